// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/selective_scan/ahead.cuh"
#include "cuda/selective_scan/bulk_tiles.cuh"

// The Mamba-1 scan of few channels on Hopper, a block to a multiprocessor: units of eight channels,
// each with a warp that does nothing but take states on, four lanes a channel, and two that make
// what it needs and finish what it leaves, by turns; and one warp that asks for everybody's tiles.
// docs/kernels/selective_scan_cuda.md.
namespace hiss::cuda::selective_scan {

// Shared memory of a block: barriers; stages of B and C, and these as float where they are not;
// then of each unit tiles of delta and delta * u, tiles of the parts of sums, stages of u, dt and
// z.
struct Unit {
  static constexpr int kUnitChannels = 8, kLanes = 4, kChannels = 1, kTokens = 16;
  static constexpr int kStates = kPassStates / kLanes;
  static constexpr int kMost = 5;  // units of a block
  static constexpr int kStages = 6, kTiles = 4;
  static constexpr int kElements = kUnitChannels * kTokens, kRates = kPassStates * kTokens;
  static constexpr int kWidth = 4;

  // Words. The gap in the middle of a row and its length keep eight lanes with four channels each
  // of four tokens out of each other's banks.
  static constexpr int kStepRow = 24, kRateRow = kPassStates, kCAt = kRates;
  static constexpr int step_at(int channel) { return 2 * channel + channel / 4 * 4; }
  static constexpr int kPartRow = kUnitChannels * kLanes + 4;

  static constexpr int kStepBytes = 4 * kTokens * kStepRow, kPartBytes = 4 * kTokens * kPartRow;
  static constexpr int kBarrierBytes = 512;
  static_assert(8 * kStages * (kMost + 1) <= kBarrierBytes);
  static constexpr int rate_bytes(int element) { return 2 * kRates * element; }
  static constexpr int floats_at(int element) {
    return kBarrierBytes + kStages * rate_bytes(element);
  }
  static constexpr int units_at(int element) {
    return floats_at(element) + (element == 4 ? 0 : kTiles * rate_bytes(4));
  }
  static constexpr int kPartsAt = kTiles * kStepBytes, kStagesAt = kPartsAt + 2 * kPartBytes;
  static constexpr int stage_bytes(int element) { return 3 * kElements * element; }
  static constexpr int unit_bytes(int element) {
    return kStagesAt + kStages * stage_bytes(element);
  }
  static constexpr int shared_bytes(int units, int element) {
    return units_at(element) + units * unit_bytes(element);
  }
};

// Warps of a block are on its schedulers by turns. The first `units` of them scan; of the others
// those work, 2 * units + 1 of them, that are not on the scheduler of two that scan.
inline constexpr int kMostUnitThreads = 32 * 19;
struct UnitRoles {
  int units, crowded;

  __host__ __device__ explicit UnitRoles(int count) : units(count), crowded(count == 5 ? 1 : 0) {}
  // Number of a warp among those that help; -1: it has nothing to do.
  __host__ __device__ int helper(int warp) const {
    if (crowded == 0) return warp - units;
    return warp % 4 == 0 ? -1 : (warp / 4 - 1) * 3 + warp % 4 - 1;
  }
  __host__ __device__ int threads() const {
    int warp = units;
    while (helper(warp) != 2 * units) ++warp;
    return 32 * (warp + 1);
  }
  __host__ __device__ int working() const { return 32 * (3 * units + 1); }
};

template <class T, bool kReverse>
__global__ void __launch_bounds__(kMostUnitThreads, 1)
    scan_units(const __grid_constant__ BulkScan scan, int units) {
  using S = Unit;
  const ScanArgs& p = scan.args;
  const BulkMaps& maps = scan.maps;
  constexpr int kTokens = S::kTokens, kStages = S::kStages, kSize = static_cast<int>(sizeof(T));
  constexpr int kTensorBytes = S::kElements * kSize;
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const Place place(p, blockIdx.x, 1, units * S::kUnitChannels);
  const int tiles = (place.length + kTokens - 1) / kTokens;
  auto* const barriers = shared_at<TransferBarrier>(0);  // of B and C, then of each unit
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages * (units + 1); ++i) barriers[i].init(1);
    fence_barrier_init();
  }
  __syncthreads();
  const auto rates_of = [&](int tile) {
    return kSize == 4 ? S::kBarrierBytes + tile % kStages * S::rate_bytes(4)
                      : S::floats_at(kSize) + tile % S::kTiles * S::rate_bytes(4);
  };
  const auto wait = [&](TransferBarrier* of, int tile) {
    of[tile % kStages].wait(static_cast<uint32_t>(tile / kStages % 2));
  };

  const UnitRoles roles(units);
  const auto turn_ends = [&] { asm volatile("bar.sync 1, %0;" ::"r"(roles.working()) : "memory"); };

  if (warp < units) {
    const int unit = warp;
    // Neighbours have the same states of two channels, and the next pair other states of these:
    // either way two lanes read the same, which is what lets one access serve a warp.
    const int channel = lane % 2 + lane / (2 * S::kLanes) * 2, part = lane / 2 % S::kLanes;
    ThreadStates<S> states;
    states.channel = unit * S::kUnitChannels + channel, states.state = part * S::kStates;
    states.clear();
    states.load_rates(p, place, 0);
    if (p.initial.data != nullptr) states.load(p, place, 0, p.initial, place.s * p.initial.row);
    const int unit_at = S::units_at(kSize) + unit * S::unit_bytes(kSize);
    const int step_at = kept(unit_at + 4 * S::step_at(channel));
    const int part_at = kept(unit_at + S::kPartsAt + 4 * (channel * S::kLanes + part));
    const auto steps = [&](int tile) { return step_at + tile % S::kTiles * S::kStepBytes; };
    const auto rates = [&](int tile) { return rates_of(tile) + 4 * states.state; };
    turn_ends();
    if (kSize == 4 && tiles > 0) wait(barriers, 0);
    Ahead<S, kReverse> ahead(states, steps(0), rates(0));
#pragma unroll 1
    for (int k = 0; k < tiles; ++k) {
      if (kSize == 4 && k + 1 < tiles) wait(barriers, k + 1);
      ahead.take_tile(steps(k), rates(k), part_at + k % 2 * S::kPartBytes, steps(k + 1),
                      rates(k + 1));
      turn_ends();
    }
    if (p.final.data != nullptr) states.store(p, place, 0, p.final, place.s * p.final.row);
    return;
  }

  const int helper = roles.helper(warp);
  if (helper < 0) return;
  if (helper == 2 * units) {  // asks for tiles
    const bool has_z = p.z.data != nullptr;
    const int row = static_cast<int>(place.row), group = static_cast<int>(place.group);
    const int begin = static_cast<int>(place.begin);
    const auto send = [&](int tile) {
      if (tile >= tiles || lane != 0) return;
      const int token = kReverse ? begin - (tile + 1) * kTokens + 1 : begin + tile * kTokens;
      const int stage = tile % kStages;
      TransferBarrier* barrier = barriers + stage;
      const uint32_t rates =
          shared_address(shared_at<char>(S::kBarrierBytes + stage * S::rate_bytes(kSize)));
      barrier->arrive_expecting(S::rate_bytes(kSize));
      load_tile(rates, &maps.B, barrier, 0, group, token, row);
      load_tile(rates + S::rate_bytes(kSize) / 2, &maps.C, barrier, 0, group, token, row);
      int channel = static_cast<int>(place.first);
      uint32_t to = shared_address(
          shared_at<char>(S::units_at(kSize) + S::kStagesAt + stage * S::stage_bytes(kSize)));
#pragma unroll 1
      for (int unit = 0; unit < units; ++unit) {
        barrier += kStages;
        barrier->arrive_expecting((has_z ? 3 : 2) * kTensorBytes);
        load_tile(to, &maps.u, barrier, channel, token, row);
        load_tile(to + kTensorBytes, &maps.dt, barrier, channel, token, row);
        if (has_z) load_tile(to + 2 * kTensorBytes, &maps.z, barrier, channel, token, row);
        channel += S::kUnitChannels, to += S::unit_bytes(kSize);
      }
    };
    for (int i = 0; i < kStages; ++i) send(i);
    turn_ends();
#pragma unroll 1
    for (int k = 0; k < tiles; ++k) {
      if (k > 1) send(k - 2 + kStages);
      __syncwarp();
      turn_ends();
    }
    return;
  }
  const int unit = helper / 2, unit_first = unit * S::kUnitChannels, parity = helper % 2;
  const int unit_at = kept(S::units_at(kSize) + unit * S::unit_bytes(kSize));
  TransferBarrier* const full = barriers + kStages * (unit + 1);
  const auto stage_at = [&](int tile) {
    return unit_at + S::kStagesAt + tile % kStages * S::stage_bytes(kSize);
  };
  const auto left_from = [&](int tile) { return min(place.length - tile * kTokens, kTokens); };
  // A lane has four channels of a token.
  const int token = lane / 2, in_unit = lane % 2 * S::kWidth;
  const bool exists = unit_first + in_unit < place.channels;
  const int step_at = kept(unit_at + 4 * (token * S::kStepRow + S::step_at(in_unit)));
  const int part_at = kept(unit_at + S::kPartsAt + 4 * (token * S::kPartRow + in_unit * S::kLanes));
  const int staged = lane * S::kWidth * kSize;
  float bias[S::kWidth], D[S::kWidth];
  for (int e = 0; e < S::kWidth; ++e) {
    const int64_t d = place.first + unit_first + in_unit + e;
    bias[e] = exists && p.dt_bias != nullptr ? p.dt_bias[d * p.bias_channel] : 0.0f;
    D[e] = exists && p.D != nullptr ? p.D[d * p.D_channel] : 0.0f;
  }
  const int64_t first_token = (kReverse ? place.begin - kTokens + 1 : place.begin) + token;
  char* y = reinterpret_cast<char*>(static_cast<T*>(p.y.data) + p.y.row * place.row +
                                    p.y.token * first_token + place.first + unit_first + in_unit) +
            parity * p.y.tile;
  const auto real = [&](int tile) {
    return exists && (kReverse ? kTokens - 1 - token : token) < left_from(tile);
  };
  const auto prepare = [&](int tile) {
    if (tile >= tiles) return;
    wait(full, tile);
    float u[S::kWidth], delta[S::kWidth];
    load_pack<S::kWidth>(shared_at<T>(stage_at(tile) + staged), u);
    load_pack<S::kWidth>(shared_at<T>(stage_at(tile) + kTensorBytes + staged), delta);
#pragma unroll
    for (int e = 0; e < S::kWidth; ++e) delta[e] += bias[e];
    delta_of(p, delta);
    if (!real(tile)) {
#pragma unroll
      for (int e = 0; e < S::kWidth; ++e) delta[e] = 0;
    }
#pragma unroll
    for (int e = 0; e < S::kWidth; ++e) u[e] *= delta[e];
    auto* to = shared_at<float4>(step_at + tile % S::kTiles * S::kStepBytes);
    to[0] = {delta[0], u[0], delta[1], u[1]}, to[1] = {delta[2], u[2], delta[3], u[3]};
    if constexpr (kSize == 2) {
      wait(barriers, tile);
      constexpr int kPart = 4 * 32;  // numbers of a warp's pass
      for (int i = unit; i < 2 * S::kRates / kPart; i += units) {
        const int at = i * kPart + 4 * lane;
        float rates[4];
        load_pack<4>(
            shared_at<T>(S::kBarrierBytes + tile % kStages * S::rate_bytes(kSize) + at * kSize),
            rates);
        store_pack<4>(rates, shared_at<float>(rates_of(tile) + 4 * at));
      }
    }
  };
  const auto finish = [&](int tile) {
    float v[S::kWidth];
#pragma unroll
    for (int e = 0; e < S::kWidth; ++e) {
      float part[S::kLanes];
      read(shared_at<float>(part_at + tile % 2 * S::kPartBytes) + e * S::kLanes, part);
      v[e] = part[0];
#pragma unroll
      for (int i = 1; i < S::kLanes; ++i) v[e] += part[i];
    }
    if (p.D != nullptr) {
      float u[S::kWidth];
      load_pack<S::kWidth>(shared_at<T>(stage_at(tile) + staged), u);
#pragma unroll
      for (int e = 0; e < S::kWidth; ++e) v[e] = __fmaf_rn(D[e], u[e], v[e]);
    }
    if (p.z.data != nullptr) {
      float z[S::kWidth];
      load_pack<S::kWidth>(shared_at<T>(stage_at(tile) + 2 * kTensorBytes + staged), z);
#pragma unroll
      for (int e = 0; e < S::kWidth; ++e) v[e] *= silu_fast(z[e]);
    }
    if (real(tile)) store_pack<S::kWidth>(v, reinterpret_cast<T*>(y));
    y += 2 * p.y.tile;
  };
  prepare(parity);
  turn_ends();
#pragma unroll 1
  for (int k = 0; k < tiles; ++k) {
    if (k % 2 == parity)
      prepare(k + 2);
    else if (k > 0)
      finish(k - 1);
    turn_ends();
  }
  if (tiles > 0 && (tiles - 1) % 2 == parity) finish(tiles - 1);
}

}  // namespace hiss::cuda::selective_scan
