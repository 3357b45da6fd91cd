// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/selective_scan/scan_args.cuh"
#include "cuda/selective_scan/states.cuh"
#include "cuda/selective_scan/step.cuh"
#include "cuda/tile/tma.cuh"

// The Mamba-1 scan of many channels with tiles that one thread asks for: no thread works out
// addresses.
namespace hiss::cuda::selective_scan {

// Boxes of tokens by channels, and of B and C of a group.
struct BulkMaps {
  CUtensorMap u, dt, z, B, C;
};
struct BulkScan {
  BulkMaps maps;
  ScanArgs args;
};

// Two lanes a channel with eight states each. Shared memory: delta and delta * u; as much for the
// parts of the sums; B and C as float where they are not; stages of u, dt, z, B and C; a barrier
// for each.
struct BulkTiles {
  static constexpr int kBlockChannels = 32, kTokens = 8, kStages = 2, kBlocks = 11;
  static constexpr int kLanes = 2, kChannels = 1, kStates = kPassStates / kLanes;
  static constexpr int kThreads = kBlockChannels * kLanes;
  static constexpr int kElements = kBlockChannels * kTokens, kRates = kPassStates * kTokens;
  // A thread makes ready and finishes so many channels of a token.
  static constexpr int kWidth = 4;
  static_assert(kElements == kThreads * kWidth);

  // Words: two for a channel, and a gap after 16 of them, so that eight lanes with four channels
  // each meet in no bank.
  static constexpr int kGap = 4, kRow = 2 * kBlockChannels + kBlockChannels / 16 * kGap;
  __host__ __device__ static constexpr int step_at(int channel) {
    return 2 * channel + channel / 16 * kGap;
  }
  static constexpr int kPartsAt = 4 * kTokens * kRow, kFloatsAt = 2 * kPartsAt;
  // Bulk copies want 128 bytes.
  static constexpr int stages_at(int element) {
    return (kFloatsAt + (element == 4 ? 0 : 8 * kRates) + 127) / 128 * 128;
  }
  static constexpr int stage_bytes(int element) { return (3 * kElements + 2 * kRates) * element; }
  static constexpr int barriers_at(int element) {
    return stages_at(element) + kStages * stage_bytes(element);
  }
  static constexpr int shared_bytes(int element) { return barriers_at(element) + 8 * kStages; }
};

// What a thread does with the elements of a tile: rows are tokens as they lie in memory.
template <class T, bool kReverse>
class BulkElements {
  using S = BulkTiles;

 public:
  static constexpr int kTensorBytes = S::kElements * static_cast<int>(sizeof(T));

  __device__ BulkElements(const ScanArgs& p, const Place& place, int tid) : p_(p) {
    constexpr int kInRow = S::kBlockChannels / S::kWidth;
    const int channel = tid % kInRow * S::kWidth;
    row_ = tid / kInRow, exists_ = channel < place.channels;
    staged_ = kept((row_ * S::kBlockChannels + channel) * kSize);
    step_ = kept(4 * (row_ * S::kRow + S::step_at(channel)));
    for (int e = 0; e < S::kWidth; ++e) {
      const int64_t d = place.first + channel + e;
      bias_[e] = exists_ && p.dt_bias != nullptr ? p.dt_bias[d * p.bias_channel] : 0.0f;
      D_[e] = exists_ && p.D != nullptr ? p.D[d * p.D_channel] : 0.0f;
    }
    const int64_t first_row = kReverse ? place.begin - S::kTokens + 1 : place.begin;
    y_ = reinterpret_cast<char*>(static_cast<T*>(p.y.data) + p.y.row * place.row +
                                 p.y.token * (first_row + row_) + place.first + channel);
  }

  // delta and delta * u; 0 where a token or channel does not exist, which leaves states alone.
  __device__ void take_steps(int stage_at, int left) const {
    float u[S::kWidth], delta[S::kWidth];
    load(stage_at, 0, u), load(stage_at, 1, delta);
#pragma unroll
    for (int e = 0; e < S::kWidth; ++e) delta[e] += bias_[e];
    delta_of(p_, delta);
    if (!exists(left)) {
#pragma unroll
      for (int e = 0; e < S::kWidth; ++e) delta[e] = 0;
    }
#pragma unroll
    for (int e = 0; e < S::kWidth; ++e) u[e] *= delta[e];
    auto* to = shared_at<float4>(step_);
    to[0] = {delta[0], u[0], delta[1], u[1]}, to[1] = {delta[2], u[2], delta[3], u[3]};
  }
  // y, from the two parts of each sum. Tiles one after another.
  __device__ void store_output(int stage_at, int left) {
    float v[S::kWidth], part[2 * S::kWidth];
    read(shared_at<float>(S::kPartsAt + step_), part);
#pragma unroll
    for (int e = 0; e < S::kWidth; ++e) v[e] = part[2 * e] + part[2 * e + 1];
    if (p_.D != nullptr) {
      float u[S::kWidth];
      load(stage_at, 0, u);
#pragma unroll
      for (int e = 0; e < S::kWidth; ++e) v[e] = __fmaf_rn(D_[e], u[e], v[e]);
    }
    if (p_.z.data != nullptr) {
      float z[S::kWidth];
      load(stage_at, 2, z);
#pragma unroll
      for (int e = 0; e < S::kWidth; ++e) v[e] *= silu_fast(z[e]);
    }
    if (exists(left)) store_pack<S::kWidth>(v, reinterpret_cast<T*>(y_));
    y_ += p_.y.tile;
  }

 private:
  static constexpr int kSize = static_cast<int>(sizeof(T));

  __device__ bool exists(int left) const {
    return exists_ && (kReverse ? S::kTokens - 1 - row_ : row_) < left;
  }
  __device__ void load(int stage_at, int tensor, float (&to)[S::kWidth]) const {
    load_pack<S::kWidth>(shared_at<T>(stage_at + tensor * kTensorBytes + staged_), to);
  }

  const ScanArgs& p_;
  int row_, staged_, step_;
  bool exists_;
  float bias_[S::kWidth], D_[S::kWidth];
  char* y_;
};

template <class T, bool kReverse>
__global__ void __launch_bounds__(BulkTiles::kThreads, BulkTiles::kBlocks)
    scan_tiles(const __grid_constant__ BulkScan scan) {
  using S = BulkTiles;
  const ScanArgs& p = scan.args;
  const BulkMaps& maps = scan.maps;
  constexpr int kTokens = S::kTokens, kSize = static_cast<int>(sizeof(T));
  constexpr int kTensorBytes = S::kElements * kSize, kRateBytes = S::kRates * kSize;
  const int tid = static_cast<int>(threadIdx.x);
  auto* const barriers = shared_at<TransferBarrier>(S::barriers_at(kSize));
  const Place place(p, blockIdx.x, 1, S::kBlockChannels);
  const auto stage_at = [](int stage) {
    return S::stages_at(kSize) + stage * S::stage_bytes(kSize);
  };
  // Tokens beyond a tensor's arrive as zeros.
  const auto send = [&](int stage, int consumed) {
    const uint32_t to = shared_address(shared_at<char>(stage_at(stage)));
    TransferBarrier* const barrier = barriers + stage;
    const bool has_z = p.z.data != nullptr;
    const int channel = static_cast<int>(place.first), row = static_cast<int>(place.row);
    const int group = static_cast<int>(place.group), begin = static_cast<int>(place.begin);
    const int token = kReverse ? begin - consumed - kTokens + 1 : begin + consumed;
    barrier->arrive_expecting((has_z ? 3 : 2) * kTensorBytes + 2 * kRateBytes);
    load_tile(to, &maps.u, barrier, channel, token, row);
    load_tile(to + kTensorBytes, &maps.dt, barrier, channel, token, row);
    if (has_z) load_tile(to + 2 * kTensorBytes, &maps.z, barrier, channel, token, row);
    load_tile(to + 3 * kTensorBytes, &maps.B, barrier, 0, group, token, row);
    load_tile(to + 3 * kTensorBytes + kRateBytes, &maps.C, barrier, 0, group, token, row);
  };
  if (tid == 0) {
    for (int i = 0; i < S::kStages; ++i) barriers[i].init(1);
    fence_barrier_init();
    for (int i = 0; i < S::kStages && i * kTokens < place.length; ++i) send(i, i * kTokens);
  }

  BulkElements<T, kReverse> elements(p, place, tid);
  ThreadStates<S> states;
  states.clear();
  states.load_rates(p, place, 0);
  if (p.initial.data != nullptr) states.load(p, place, 0, p.initial, place.s * p.initial.row);
  const int step_at = kept(4 * S::step_at(states.channel)),
            part_at = kept(S::kPartsAt + step_at + 4 * (tid % 2));
  __syncthreads();  // the barriers
  int stage = 0;
  uint32_t parity = 0;
#pragma unroll 1
  for (int token = 0; token < place.length; token += kTokens) {
    const int left = min(place.length - token, kTokens), staged = stage_at(stage);
    barriers[stage].wait(parity);
    elements.take_steps(staged, left);
    int rate_at = staged + 3 * kTensorBytes;
    if constexpr (kSize == 2) {
#pragma unroll
      for (int i = 0; i < 2 * S::kRates; i += 4 * S::kThreads) {
        float rates[4];
        load_pack<4>(shared_at<T>(rate_at + (4 * tid + i) * kSize), rates);
        store_pack<4>(rates, shared_at<float>(S::kFloatsAt + 4 * (4 * tid + i)));
      }
      rate_at = S::kFloatsAt;
    }
    rate_at += 4 * states.state;
    __syncthreads();
    float part[kTokens];
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      const int row = kReverse ? kTokens - 1 - t : t;
      float step[2], B[S::kStates], C[S::kStates];
      read(shared_at<float>(step_at + 4 * row * S::kRow), step);
      read(shared_at<float>(rate_at + 4 * row * kPassStates), B);
      read(shared_at<float>(rate_at + 4 * (row * kPassStates + S::kRates)), C);
#pragma unroll
      for (int n = 0; n < S::kStates; ++n) {
        float& h = states.h[0][n];
        h = __fmaf_rn(exp2_flushed(step[0] * states.A[0][n]), h, step[1] * B[n]);
        part[row] = n == 0 ? C[0] * h : __fmaf_rn(C[n], h, part[row]);
      }
    }
#pragma unroll
    for (int row = 0; row < kTokens; ++row)
      *shared_at<float>(part_at + 4 * row * S::kRow) = part[row];
    __syncthreads();
    elements.store_output(staged, left);
    __syncthreads();
    if (tid == 0 && token + S::kStages * kTokens < place.length)
      send(stage, token + S::kStages * kTokens);
    if (++stage == S::kStages) stage = 0, parity ^= 1;
  }
  if (p.final.data != nullptr) states.store(p, place, 0, p.final, place.s * p.final.row);
}

}  // namespace hiss::cuda::selective_scan
