// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/bf16_state.cuh"
#include "cuda/ssd_chunk_scan/hopper_apart.cuh"

namespace hiss::cuda::ssd {

template <class S, class State>
__device__ __forceinline__ void load_initial(const Bench<S>& w, State& state) {
  const HopperScan& k = w.k;
#pragma unroll
  for (int i = 0; i < 16 * S::kPanels; ++i) set_pair(state, i / 4, i % 4, 0);
  if (k.initial && w.l.stored)
    load_state<4 * S::kPanels>(state, k, w.l, w.row_in_head,
                               reinterpret_cast<const __nv_bfloat16*>(k.initial) +
                                   w.p.sequence * k.initial_stride[0] +
                                   w.head * k.initial_stride[1],
                               k.initial_stride[2]);
}

// By way of the memory of the last y, once that has left it.
template <class S, class State>
__device__ __forceinline__ void store_final(const Bench<S>& w, const State& state,
                                            int previous_row) {
  const HopperScan& k = w.k;
  if (threadIdx.x % 128 == 0) wait_stores_read();
  named_barrier(1 + w.warpgroup, 128);
  if (!k.final || !w.p.last || __all_sync(~0u, !w.l.stored)) return;
  auto* to = reinterpret_cast<__nv_bfloat16*>(k.final) + w.p.sequence * k.final_stride[0] +
             w.head * k.final_stride[1];
  const int64_t p_stride = k.final_stride[2];
  const bool in_rows =
      previous_row >= 0 && reinterpret_cast<uintptr_t>(to) % 16 == 0 && p_stride % 8 == 0;
  // By votes, so that the compiler knows that the warp is of one mind.
  if (__all_sync(~0u, in_rows)) {
    const int at = previous_row * S::kRowStage + w.warpgroup * kTile;
    store_state_by_rows<4 * S::kPanels>(state, k, w.l, w.row_in_head - w.l.lane / 4, to, p_stride,
                                        w.stages.row_base + at, w.stages.row_memory + at);
    fence_async_proxy();
  } else {
    store_state<4 * S::kPanels>(state, k, w.l, w.row_in_head, to, p_stride);
  }
}

template <class S, class State>
__device__ __forceinline__ void store_checkpoint_pairs(const Bench<S>& w, int64_t checkpoint,
                                                       const State& state) {
  const HopperScan& k = w.k;
  if (w.l.stored)
    store_state<4 * S::kPanels>(
        state, k, w.l, w.row_in_head,
        reinterpret_cast<__nv_bfloat16*>(k.checkpoints) + w.p.row * k.checkpoint_stride[0] +
            checkpoint * k.checkpoint_stride[1] + w.head * k.checkpoint_stride[2],
        k.checkpoint_stride[3]);
}

// What the walks of the other row call where the state is float32: its tensors are bf16.
template <int kN, int kHeads, bool kZ, bool kOutputs, int n>
__device__ __forceinline__ void begin_state(
    const Bench<Bf16StateShared<kN, kHeads, kZ, kOutputs>>& w, float (&state)[n]) {
  load_initial(w, state);
}
template <int kN, int kHeads, bool kZ, bool kOutputs, int n>
__device__ __forceinline__ void store_checkpoint(
    const Bench<Bf16StateShared<kN, kHeads, kZ, kOutputs>>& w, int64_t checkpoint,
    const float (&state)[n]) {
  store_checkpoint_pairs(w, checkpoint, state);
}

// States are handed on as bf16 too: half the bytes.
template <int kN, int kHeads, bool kZ, int n>
__device__ __forceinline__ void hand_on(const Bench<Bf16StateShared<kN, kHeads, kZ, false>>& w,
                                        int rank, const float (&state)[n], float decay) {
  float* to = w.exchange(rank);
#pragma unroll
  for (int j = 0; j < n / 8; ++j)
    *reinterpret_cast<uint4*>(to + j * 512) = {pair_of(state, j, 0), pair_of(state, j, 1),
                                               pair_of(state, j, 2), pair_of(state, j, 3)};
  to[n * 64] = decay;
}

// The state at the beginning of a segment, from the earlier ones in their order.
template <int kN, int kHeads, bool kZ, int n>
__device__ __forceinline__ void gather_state(const Bench<Bf16StateShared<kN, kHeads, kZ, true>>& w,
                                             float (&sum)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) sum[i] = 0;
#pragma unroll 1
  for (int rank = w.k.initial ? 0 : 1; rank <= w.p.rank; ++rank) {
    const float* from = w.exchange(rank);
    const float decay = from[n * 64];
#pragma unroll
    for (int j = 0; j < n / 8; ++j) {
      const uint4 v = *reinterpret_cast<const uint4*>(from + j * 512);
      const uint32_t two[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 u = unpacked<Factor>(two[i]);
        sum[8 * j + 2 * i] = sum[8 * j + 2 * i] * decay + u.x;
        sum[8 * j + 2 * i + 1] = sum[8 * j + 2 * i + 1] * decay + u.y;
      }
    }
  }
}
template <class S, int n>
__device__ __forceinline__ void gather_state(const Bench<S>& w, uint32_t (&state)[n][4]) {
  float sum[8 * n];
  gather_state(w, sum);
#pragma unroll
  for (int i = 0; i < 4 * n; ++i) set_pair(state, i / 4, i % 4, pair_of(sum, i / 4, i % 4));
}

// state = state decay + weighted B for the panels behind the first two, which are under way.
template <class S, int n>
__device__ __forceinline__ void finish_panels(uint32_t (&state)[n][4], float (&even)[32],
                                              float (&odd)[32], const float (&decay)[2],
                                              uint32_t (&weighted)[4][4], uint32_t stage) {
  static_assert(S::kPanels == 4);
  wgmma_wait<1>();
  take_panel(state, 0, even);
  start_panel(even, state, 2, decay, weighted, stage);
  wgmma_wait<1>();
  take_panel(state, 1, odd);
  start_panel(odd, state, 3, decay, weighted, stage);
  wgmma_wait<1>();
  take_panel(state, 2, even);
  wgmma_wait<0>();
  take_panel(state, 3, odd);
  pin(weighted);
}

// A chunk before the block's range, for the state.
template <class T, class S, int n>
__device__ __forceinline__ void walk_ahead(const Bench<S>& w, uint32_t (&state)[n][4],
                                           const Rings<S>& ring, int& previous_row) {
  const int at = ring.stage.at, row_at = ring.row.at;
  const uint32_t stage = w.stages.base + at * S::kStage;
  const Scalars& own = w.stages.scalars(at, w.l.slot);
  convert_tiles<T, S>(w.stages.memory + at * S::kStage, S::kPanels, 128, 256);
  uint32_t x[4][4], weighted[4][4];
  load_rows<T>(x, w.stages.row_base + row_at * S::kRowStage + w.warpgroup * kTile, w.l);
  weigh_rows(weighted, x, w.l, own);
  const float decay[2] = {own.from_start[kChunk - 1], own.from_start[kChunk - 1]};
  float even[32], odd[32];
  start_panel(even, state, 0, decay, weighted, stage);
  start_panel(odd, state, 1, decay, weighted, stage);
  finish_panels<S>(state, even, odd, decay, weighted, stage);
  if (w.l.lane == 0) {
    w.stages.empty[at].arrive();
    w.stages.row_empty[row_at].arrive();
    give_back_row(w, previous_row);
  }
  previous_row = -1;
}

// The whole of a segment, from the state before it. The state is brought up to date panel by
// panel, in float32, two panels at a time.
template <class T, class S, bool kZ, int n>
__device__ void walk_bf16(const Bench<S>& w, uint32_t (&state)[n][4], Progress<S>& progress) {
  const HopperScan& k = w.k;
  const Lane& l = w.l;
  const bool skips = k.D && k.D_stride[1] != 0;
  uint32_t skip[4] = {};
  if (skips) read_skip(w, skip);
  auto& [ring, from, previous_row] = progress;
  for (Cutter<true> cut(k, w.p); !cut.done(); cut.next(k), ring.advance()) {
    const int at = ring.stage.at, row_at = ring.row.at, length = cut.length;
    const uint32_t stage = w.stages.base + at * S::kStage;
    const uint32_t tile = w.stages.row_base + row_at * S::kRowStage + w.warpgroup * kTile;
    const uint32_t weights = w.weights + from.at * S::kWeightStage;
    char* tile_memory = w.stages.row_memory + row_at * S::kRowStage + w.warpgroup * kTile;
    const Scalars& own = w.stages.scalars(at, l.slot);
    w.stages.full[at].wait(ring.stage.phase);
    if (cut.t < w.p.begin) {
      walk_ahead<T>(w, state, ring, previous_row);
      continue;
    }
    if constexpr (!std::is_same_v<T, Factor>)  // B and C are converted before the weights
      w.stages.weights_full[from.at].wait(from.phase);
    if (length < kChunk) [[unlikely]]
      clear_rows<S>(w.stages.memory + at * S::kStage, tile_memory, length, w.warpgroup);

    float y[32], even[32], odd[32];
    uint32_t x[4][4];
    read_state<S>(y, state, stage);
    int2 first_fault;
    const bool faults = load_clean_rows<T>(x, first_fault, tile, tile_memory, l);
    wgmma_wait<0>();
    pin(y);
    pin(state);
    decay_rows(y, own, l);
    add_weighted_tokens(w, from, weights, y, x);
    uint32_t weighted[4][4];
    weigh_rows(weighted, x, l, own);
    const float end = own.from_start[kChunk - 1];
    const float decay[2] = {first_fault.x < kChunk ? NAN : end, first_fault.y < kChunk ? NAN : end};
    start_panel(even, state, 0, decay, weighted, stage);
    wgmma_wait<1>();
    pin(y);
    pin(x);
    if (l.lane == 0) {
      w.stages.weights_empty[from.at].arrive();
      give_back_row(w, previous_row);
    }
    previous_row = row_at;
    write_row<T, kZ>(y, skips, skip, tile, tile_memory, faults, first_fault, l);
    start_panel(odd, state, 1, decay, weighted, stage);
    named_barrier(1 + w.warpgroup, 128);
    store_output(w, tile, tile_memory, cut.t, length);
    finish_panels<S>(state, even, odd, decay, weighted, stage);
    if (l.lane == 0) w.stages.empty[at].arrive();
    from.advance();
    if (cut.at_checkpoint) [[unlikely]]
      store_checkpoint_pairs(w, cut.checkpoint, state);
  }
}

}  // namespace hiss::cuda::ssd
