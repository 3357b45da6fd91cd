// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/selective_scan/scan.cuh"
#include "cuda/tile/tma.cuh"

// The Mamba-1 scan of many channels whose tiles come by Hopper's bulk copies.
namespace hiss::cuda::selective_scan {

struct BulkMaps {
  CUtensorMap u, dt, z, B, C;
};

// kC channels, two lanes each; kTokens a tile, kStages of them. kApart: parts of sums have a place
// of their own, otherwise that of the steps.
template <int kC_, int kTokens_, int kStages_, int kBlocks_, bool kApart_>
struct BulkShape {
  static constexpr int kC = kC_, kTokens = kTokens_, kStages = kStages_, kBlocks = kBlocks_;
  static constexpr bool kApart = kApart_;
  static constexpr int kThreads = 2 * kC, kStates = 8, kLanes = 2, kChannels = 1, kBlockChannels = kC;
  static constexpr int kElements = kC * kTokens, kRates = kTokens * kPassStates;
  // delta and delta u of a channel beside each other, and so the parts of a sum. A gap every 16
  // channels: eight lanes with four channels each meet in no bank.
  static constexpr int kRow = 2 * kC + 4 * (kC / 16);
  static constexpr int at(int channel) { return 2 * channel + channel / 16 * 4; }
  static constexpr int kStepBytes = 4 * kTokens * kRow;
  static constexpr int whole(int bytes) { return (bytes + 127) / 128 * 128; }
  static constexpr int stage_bytes(int element) { return (3 * kElements + 2 * kRates) * element; }
  static constexpr int parts_at() { return kApart ? kStepBytes : 0; }
  static constexpr int rates_at() { return (kApart ? 2 : 1) * kStepBytes; }
  static constexpr int stages_at(int element) {
    return whole(rates_at() + (element == 4 ? 0 : 8 * kRates));
  }
  static constexpr int barriers_at(int element) {
    return stages_at(element) + kStages * stage_bytes(element);
  }
  static constexpr int shared_bytes(bool, int element) { return barriers_at(element) + 8 * kStages; }
  __device__ static void barrier() {
    if constexpr (kThreads == 32)
      __syncwarp();
    else
      __syncthreads();
  }
};

template <class T, class S>
__global__ void __launch_bounds__(S::kThreads, S::kBlocks)
    scan_bulk(const __grid_constant__ ScanArgs p, const __grid_constant__ BulkMaps maps) {
  constexpr int kTokens = S::kTokens, kStages = S::kStages, kSize = static_cast<int>(sizeof(T));
  constexpr int kTensor = S::kElements * kSize, kRate = S::kRates * kSize;
  constexpr int kChunks = S::kElements / 4 / S::kThreads, kBy = S::kThreads / (S::kC / 4);
  const int tid = static_cast<int>(threadIdx.x);
  auto* const barriers = shared_at<TransferBarrier>(S::barriers_at(kSize));
  const Place place(p, blockIdx.x, 1, S::kC);
  if (tid < kStages) barriers[tid].init(1);
  fence_barrier_init();
  S::barrier();
  const int first = static_cast<int>(place.first), row = static_cast<int>(place.row),
            group = static_cast<int>(place.group);
  const auto send = [&](int stage, int token) {
    const uint32_t to =
        shared_address(shared_at<char>(S::stages_at(kSize) + stage * S::stage_bytes(kSize)));
    TransferBarrier* const barrier = barriers + stage;
    barrier->arrive_expecting((p.z.data != nullptr ? 3 : 2) * kTensor + 2 * kRate);
    load_tile(to, &maps.u, barrier, first, token, row);
    load_tile(to + kTensor, &maps.dt, barrier, first, token, row);
    if (p.z.data != nullptr) load_tile(to + 2 * kTensor, &maps.z, barrier, first, token, row);
    load_tile(to + 3 * kTensor, &maps.B, barrier, 0, group, token, row);
    load_tile(to + 3 * kTensor + kRate, &maps.C, barrier, 0, group, token, row);
  };
  if (tid == 0)
    for (int i = 0; i < kStages && i * kTokens < place.length; ++i) send(i, i * kTokens);

  // Chunks of four channels of a token that this thread makes ready and finishes.
  const int channel = tid % (S::kC / 4) * 4, slow = tid / (S::kC / 4);
  const bool exists = channel < place.channels;
  const int chunk_at = kept((slow * S::kC + channel) * kSize);
  const int step_at = kept(4 * (slow * S::kRow + S::at(channel)));
  float bias[4], D[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    bias[e] = exists && p.dt_bias != nullptr ? p.dt_bias[(place.first + channel + e) * p.bias_channel] : 0.0f;
    D[e] = exists && p.D != nullptr ? p.D[(place.first + channel + e) * p.D_channel] : 0.0f;
  }
  char* y = const_cast<char*>(reinterpret_cast<const char*>(
      static_cast<const T*>(p.y.data) + p.y.row * place.row + p.y.token * (place.begin + slow) +
      place.first + channel));

  ThreadStates<S> states;
  states.clear();
  states.load_rates(p, place, 0);
  if (p.initial.data != nullptr) states.load(p, place, 0, p.initial, place.s * p.initial.row);
  const int scan_at = kept(4 * S::at(states.channel));
  const int part_at = kept(S::parts_at() + 4 * (S::at(states.channel) + tid % 2));
  int stage = 0, parity = 0;
#pragma unroll 1
  for (int token = 0; token < place.length; token += kTokens) {
    const int left = min(place.length - token, kTokens);
    barriers[stage].wait(static_cast<uint32_t>(parity));
    const int stage_at = S::stages_at(kSize) + stage * S::stage_bytes(kSize);
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      float u[4], delta[4];
      load_pack<4>(shared_at<T>(stage_at + chunk_at + i * kBy * S::kC * kSize), u);
      load_pack<4>(shared_at<T>(stage_at + chunk_at + kTensor + i * kBy * S::kC * kSize), delta);
#pragma unroll
      for (int e = 0; e < 4; ++e) delta[e] += bias[e];
      if (p.softplus) {
#pragma unroll
        for (int e = 0; e < 4; ++e) delta[e] = softplus_fast(delta[e]);
      }
      if (p.limited) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          delta[e] = min_or_nan(max_or_nan(delta[e], p.dt_min), p.dt_max);
      }
      if (!exists || slow + i * kBy >= left) {
#pragma unroll
        for (int e = 0; e < 4; ++e) delta[e] = 0;
      }
      auto* to = shared_at<float4>(step_at + 4 * i * kBy * S::kRow);
      to[0] = {delta[0], u[0] * delta[0], delta[1], u[1] * delta[1]};
      to[1] = {delta[2], u[2] * delta[2], delta[3], u[3] * delta[3]};
    }
    int rate_at = stage_at + 3 * kTensor;
    if constexpr (kSize == 2) {
#pragma unroll
      for (int i = 0; i < 2 * S::kRates; i += 4 * S::kThreads) {
        float v[4];
        load_pack<4>(shared_at<T>(rate_at + (4 * tid + i) * kSize), v);
        store_pack<4>(v, shared_at<float>(S::rates_at() + 16 * tid + 4 * i));
      }
      rate_at = S::rates_at();
    }
    S::barrier();
    rate_at += 4 * states.state;
#pragma unroll
    for (int t = 0; t < kTokens; t += 2) {
      float part[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        float step[2], B[8], C[8];
        read(shared_at<float>(scan_at + 4 * (t + j) * S::kRow), step);
        read(shared_at<float>(rate_at + 4 * (t + j) * kPassStates), B);
        read(shared_at<float>(rate_at + 4 * (t + j) * kPassStates + 4 * S::kRates), C);
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          float& h = states.h[0][n];
          h = __fmaf_rn(exp2_flushed(step[0] * states.A[0][n]), h, step[1] * B[n]);
          part[j] = n == 0 ? C[0] * h : __fmaf_rn(C[n], h, part[j]);
        }
      }
      if constexpr (!S::kApart) __syncwarp();
#pragma unroll
      for (int j = 0; j < 2; ++j) *shared_at<float>(part_at + 4 * (t + j) * S::kRow) = part[j];
    }
    S::barrier();
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      float v[4], both[8];
      read(shared_at<float>(S::parts_at() + step_at + 4 * i * kBy * S::kRow), both);
#pragma unroll
      for (int e = 0; e < 4; ++e) v[e] = both[2 * e] + both[2 * e + 1];
      {
        float u[4];
        load_pack<4>(shared_at<T>(stage_at + chunk_at + i * kBy * S::kC * kSize), u);
#pragma unroll
        for (int e = 0; e < 4; ++e) v[e] = __fmaf_rn(D[e], u[e], v[e]);
      }
      if (p.z.data != nullptr) {
        float z[4];
        load_pack<4>(shared_at<T>(stage_at + chunk_at + 2 * kTensor + i * kBy * S::kC * kSize), z);
#pragma unroll
        for (int e = 0; e < 4; ++e) v[e] *= silu_fast(z[e]);
      }
      if (exists && slow + i * kBy < left)
        store_pack<4>(v, reinterpret_cast<T*>(y + i * p.y.chunk));
    }
    y += p.y.tile;
    S::barrier();
    if (tid == 0 && token + kStages * kTokens < place.length) send(stage, token + kStages * kTokens);
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
  if (p.final.data != nullptr) states.store(p, place, 0, p.final, place.s * p.final.row);
}

using Encode = decltype(&cuTensorMapEncodeTiled);
inline Encode tensor_map_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                       cudaEnableDefault, &result) != cudaSuccess ||
      result != cudaDriverEntryPointSuccess)
    return nullptr;
  return reinterpret_cast<Encode>(function);
}
inline bool encode(CUtensorMap& map, const ConstTensorView& v, int inner, int tokens) {
  static const Encode encoder = tensor_map_encoder();
  if (encoder == nullptr) return false;
  cuuint64_t sizes[4], strides[3];
  cuuint32_t box[4] = {static_cast<cuuint32_t>(inner), 1, 1, 1}, steps[4] = {1, 1, 1, 1};
  const int rank = v.rank;
  for (int i = 0; i < rank; ++i) sizes[i] = static_cast<cuuint64_t>(v.shape[rank - 1 - i]);
  for (int i = 1; i < rank; ++i)
    strides[i - 1] = static_cast<cuuint64_t>((v.shape[rank - 1 - i] > 1 ? v.stride[rank - 1 - i] : 16) * size_of(v.dtype));
  box[rank - 2] = static_cast<cuuint32_t>(tokens);
  if (rank == 4) box[1] = 1, box[2] = static_cast<cuuint32_t>(tokens);
  const CUtensorMapDataType type = v.dtype == DType::kF32   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                   : v.dtype == DType::kF16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                            : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  return encoder(&map, type, static_cast<cuuint32_t>(rank), const_cast<void*>(v.data), sizes, strides, box, steps,
                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                 CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <class T, class S>
Status launch_bulk(std::string_view name, const SelectiveScan::Args& a, cudaStream_t stream, int blocks_a_sm = 0) {
  ScanArgs args = ScanArgs::of(a);
  if (args.dim == 0 || args.sequences.nseq == 0) return {};
  args.blocks_of_group = ceil_div(args.group_dim, S::kC);
  const int64_t blocks = args.sequences.nseq * args.blocks_of_group * (args.dim / args.group_dim);
  args.y.chunk = args.y.token * static_cast<int64_t>(sizeof(T)) * (S::kThreads / (S::kC / 4));
  args.y.tile = args.y.token * static_cast<int64_t>(sizeof(T)) * S::kTokens;
  BulkMaps maps{};
  if (!encode(maps.u, a.u, S::kC, S::kTokens) || !encode(maps.dt, a.dt, S::kC, S::kTokens) ||
      (a.z.present() && !encode(maps.z, a.z, S::kC, S::kTokens)) ||
      !encode(maps.B, a.B, kPassStates, S::kTokens) || !encode(maps.C, a.C, kPassStates, S::kTokens))
    return Internal("encode");
  int bytes = S::shared_bytes(true, sizeof(T));
  if (blocks_a_sm > 0) bytes = std::max(bytes, 227 * 1024 / (blocks_a_sm + 1) + 64);
  HISS_RETURN_IF_ERROR(allow_shared(name, scan_bulk<T, S>, bytes));
  scan_bulk<T, S><<<static_cast<unsigned>(blocks), S::kThreads, bytes, stream>>>(args, maps);
  return launched(name);
}
}  // namespace hiss::cuda::selective_scan
