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

// The pair `i` of an operand, of 16 columns of a state, as it is kept or as it is rounded.
template <int n>
__device__ __forceinline__ uint32_t pair_of(const uint32_t (&state)[n][4], int j, int i) {
  return state[j][i];
}
template <int n>
__device__ __forceinline__ uint32_t pair_of(const float (&state)[n], int j, int i) {
  return packed<Factor>(state[8 * j + 2 * i], state[8 * j + 2 * i + 1]);
}
template <int n>
__device__ __forceinline__ void set_pair(uint32_t (&state)[n][4], int j, int i, uint32_t pair) {
  state[j][i] = pair;
}
template <int n>
__device__ __forceinline__ void set_pair(float (&state)[n], int j, int i, uint32_t pair) {
  const float2 v = unpacked<Factor>(pair);
  state[8 * j + 2 * i] = v.x, state[8 * j + 2 * i + 1] = v.y;
}

// Whether rows of states can be accessed two at a time. dstate is even.
__device__ inline bool in_pairs(const __nv_bfloat16* rows, int64_t p_stride) {
  return reinterpret_cast<uintptr_t>(rows) % 4 == 0 && p_stride % 2 == 0;
}

// The pairs of a thread's part of a state in memory: f(j, i, where) for each that exists.
template <int n, class F>
__device__ __forceinline__ void for_each_stored_pair(const HopperScan& k, const Lane& l, int row,
                                                     int64_t p_stride, F&& f) {
#pragma unroll
  for (int j = 0; j < n; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = 16 * j + i / 2 * 8 + l.column;
      if (column < k.dstate) f(j, i, (row + i % 2 * 8) * p_stride + column);
    }
}

template <int n, class State>
__device__ __forceinline__ void store_state(const State& state, const HopperScan& k, const Lane& l,
                                            int row, __nv_bfloat16* to, int64_t p_stride) {
  auto* elements = reinterpret_cast<uint16_t*>(to);
  const bool pairs = in_pairs(to, p_stride);
  for_each_stored_pair<n>(k, l, row, p_stride, [&](int j, int i, int64_t at) {
    const uint32_t v = pair_of(state, j, i);
    if (pairs)
      *reinterpret_cast<uint32_t*>(elements + at) = v;
    else
      elements[at] = static_cast<uint16_t>(v), elements[at + 1] = static_cast<uint16_t>(v >> 16);
  });
}

// The same by way of shared memory, 64 states at a time: written as they lie in registers they are
// 16 bytes of a row at once, and memory fetches the rest of 32 first. `row`: the warp's first;
// `tile`: 64 rows of 128 bytes, of which the warp uses its own.
template <int n, class State>
__device__ __forceinline__ void store_state_by_rows(const State& state, const HopperScan& k,
                                                    const Lane& l, int row, __nv_bfloat16* to,
                                                    int64_t p_stride, uint32_t tile,
                                                    const char* tile_memory) {
#pragma unroll
  for (int j = 0; j < n; ++j) {
    const uint32_t pairs[4] = {pair_of(state, j, 0), pair_of(state, j, 1), pair_of(state, j, 2),
                               pair_of(state, j, 3)};
    store_matrices(tile + swizzled(16 * l.warp + l.lane % 16, j % 4 * 2 + l.lane / 16), pairs);
    if (j % 4 != 3) continue;
    __syncwarp();
    const int column = 16 * (j - 3) + l.lane % 8 * 8;
#pragma unroll
    for (int i = l.lane / 8; i < 16; i += 4)
      if (column < k.dstate)
        *reinterpret_cast<uint4*>(to + (row + i) * p_stride + column) =
            *reinterpret_cast<const uint4*>(tile_memory + swizzled(16 * l.warp + i, l.lane % 8));
    __syncwarp();
  }
}

// What is not in memory stays as it is.
template <int n, class State>
__device__ __forceinline__ void load_state(State& state, const HopperScan& k, const Lane& l,
                                           int row, const __nv_bfloat16* from, int64_t p_stride) {
  const auto* elements = reinterpret_cast<const uint16_t*>(from);
  const bool pairs = in_pairs(from, p_stride);
  for_each_stored_pair<n>(k, l, row, p_stride, [&](int j, int i, int64_t at) {
    set_pair(state, j, i,
             pairs ? *reinterpret_cast<const uint32_t*>(elements + at)
                   : elements[at] | static_cast<uint32_t>(elements[at + 1]) << 16);
  });
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
