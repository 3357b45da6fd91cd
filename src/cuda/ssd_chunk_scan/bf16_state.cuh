// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/bf16_state.h"
#include "cuda/ssd_chunk_scan/hopper_walk.cuh"

// A state of 64 rows by kN as bf16 in registers: element pairs in the layout of an operand.
namespace hiss::cuda::ssd {

// Shared memory of a block, as Shared. Up to kAccumulatedDstate the state is kept as there.
template <int kN, int kHeads, bool kZ, bool kOutputs>
struct Bf16StateShared : Shared<kN, kHeads, kZ, kOutputs> {};

// Of the pass that makes y. A state that is kept in bf16 leaves more registers to the other warps.
template <int kHeads, bool kZ>
struct Bf16StateShared<256, kHeads, kZ, true> : Shared<256, kHeads, kZ, false> {
  using Base = Shared<256, kHeads, kZ, false>;
  static constexpr int kTogether = 2;
  static constexpr int kThreads = 512;
  static constexpr int kCopyRegisters = 40, kWeighRegisters = 88, kRowRegisters = 192;
  static constexpr int kScalars = 2 * Base::kC;
  static constexpr int kStage = kScalars + (Base::kScalarBytes + 1023) / 1024 * 1024;
  static constexpr int kWeightStages = kZ ? 1 : 2;
  static constexpr int kWeightStage = kHeads * kTile, kWeights = kWeightStages * kWeightStage;
  static constexpr int kLimit = 227 * 1024 - 1024 - 256 - kWeights;
  static constexpr int kFit = kLimit / (kStage + Base::kRowStage);
  static constexpr int kStages = kFit < 4 ? kFit : 4;
  static constexpr int kRowFit = (kLimit - kStages * kStage) / Base::kRowStage;
  static constexpr int kRowStages = kRowFit < 4 ? kRowFit : 4;
  static constexpr int kBarriers = kWeights + kStages * kStage + kRowStages * Base::kRowStage;
  static constexpr int kBytes = kBarriers + 1024 + 256;
  static_assert(kStages >= 2 && kRowStages >= 2);
};

// Row of the pair `i` of an operand, beside the thread's first, and its column.
__device__ __forceinline__ int row_of(int i) { return i % 2 * 8; }
__device__ __forceinline__ int column_of(int j, int i, const Lane& l) {
  return 16 * j + i / 2 * 8 + l.column;
}

// Whether rows of states can be accessed two at a time. dstate is even.
__device__ inline bool in_pairs(const __nv_bfloat16* rows, int64_t p_stride) {
  return reinterpret_cast<uintptr_t>(rows) % 4 == 0 && p_stride % 2 == 0;
}

template <int n>
__device__ void store_state(const uint32_t (&state)[n][4], __nv_bfloat16* to, int64_t p_stride,
                            int dstate, int row_in_head, const Lane& l) {
  const bool pairs = in_pairs(to, p_stride);
#pragma unroll
  for (int j = 0; j < n; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = column_of(j, i, l);
      auto* at = reinterpret_cast<uint16_t*>(to + (row_in_head + row_of(i)) * p_stride + column);
      if (column >= dstate) continue;
      if (pairs)
        *reinterpret_cast<uint32_t*>(at) = state[j][i];
      else
        at[0] = static_cast<uint16_t>(state[j][i]),
        at[1] = static_cast<uint16_t>(state[j][i] >> 16);
    }
}

template <int n>
__device__ void load_state(uint32_t (&state)[n][4], const __nv_bfloat16* from, int64_t p_stride,
                           int dstate, int row_in_head, const Lane& l) {
  const bool pairs = in_pairs(from, p_stride);
#pragma unroll
  for (int j = 0; j < n; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = column_of(j, i, l);
      const auto* at =
          reinterpret_cast<const uint16_t*>(from + (row_in_head + row_of(i)) * p_stride + column);
      state[j][i] = 0;
      if (column >= dstate) continue;
      state[j][i] = pairs ? *reinterpret_cast<const uint32_t*>(at)
                          : at[0] | static_cast<uint32_t>(at[1]) << 16;
    }
}

template <int n>
__device__ __forceinline__ void round_state(uint32_t (&to)[n / 8][4], const float (&from)[n]) {
#pragma unroll
  for (int i = 0; i < n; i += 2) to[i / 8][i / 2 % 4] = packed<Factor>(from[i], from[i + 1]);
}

template <int n>
__device__ __forceinline__ void widen_state(float (&to)[n], const uint32_t (&from)[n / 8][4]) {
#pragma unroll
  for (int i = 0; i < n; i += 2) {
    const float2 v = unpacked<Factor>(from[i / 8][i / 2 % 4]);
    to[i] = v.x, to[i + 1] = v.y;
  }
}

// y = state C^T: the state is an operand as it is.
template <class S, int n>
__device__ __forceinline__ void read_state(float (&y)[32], const uint32_t (&state)[n][4],
                                           uint32_t stage) {
  const uint64_t c = rows_are_outer(stage + S::kC);
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < n; ++step)
    wgmma<Factor, false>(y, state[step], further(c, step / 4 * kTile + step % 4 * 32), step > 0);
  wgmma_commit();
}

// sum = state decay + weighted B, for the 64 states of a panel.
template <int n>
__device__ __forceinline__ void start_panel(float (&sum)[32], uint32_t (&state)[n][4], int panel,
                                            const float (&decay)[2],
                                            const uint32_t (&weighted)[4][4], uint32_t stage) {
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      asm volatile("" : "+r"(state[4 * panel + j][i]));  // not earlier: registers are scarce
      const float2 v = unpacked<Factor>(state[4 * panel + j][i]);
      sum[8 * j + 2 * i] = v.x * decay[i % 2];
      sum[8 * j + 2 * i + 1] = v.y * decay[i % 2];
    }
  add_to_state(sum, weighted, stage + panel * kTile);
}

template <int n>
__device__ __forceinline__ void take_panel(uint32_t (&state)[n][4], int panel, float (&sum)[32]) {
  pin(sum);
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      state[4 * panel + j][i] = packed<Factor>(sum[8 * j + 2 * i], sum[8 * j + 2 * i + 1]);
}

}  // namespace hiss::cuda::ssd
