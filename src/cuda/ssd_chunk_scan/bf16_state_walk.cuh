// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/bf16_state.cuh"
#include "cuda/ssd_chunk_scan/hopper_apart.cuh"

namespace hiss::cuda::ssd {

// States between segments are handed on rounded too, as walk_states does through this overload.
template <int kN, int kHeads, bool kZ, int n>
__device__ __forceinline__ void hand_on(const Bench<Bf16StateShared<kN, kHeads, kZ, false>>& w,
                                        int rank, const float (&state)[n], float decay) {
  float* to = w.exchange(rank);
#pragma unroll
  for (int i = 0; i < n; i += 8)
    *reinterpret_cast<uint4*>(to + i * 64) = {
        packed<Factor>(state[i], state[i + 1]), packed<Factor>(state[i + 2], state[i + 3]),
        packed<Factor>(state[i + 4], state[i + 5]), packed<Factor>(state[i + 6], state[i + 7])};
  to[n * 64] = decay;
}

template <class S, int n>
__device__ void load_initial(const Bf16StateScan& k, const Bench<S>& w, uint32_t (&state)[n][4]) {
#pragma unroll
  for (int j = 0; j < n; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) state[j][i] = 0;
  if (k.initial && w.l.stored)
    load_state(
        state,
        k.initial + w.p.sequence * k.base.initial_stride[0] + w.head * k.base.initial_stride[1],
        k.base.initial_stride[2], k.base.dstate, w.row_in_head, w.l);
}

// By the first segment for the later ones: the second pass may overwrite the initial state.
template <class S>
__device__ void hand_on_initial(const Bf16StateScan& k, const Bench<S>& w) {
  if (k.initial == nullptr || w.p.rank != 0) return;
  uint32_t state[4 * S::kPanels][4];
  load_initial(k, w, state);
  float* to = w.exchange(0);
#pragma unroll
  for (int j = 0; j < 4 * S::kPanels; ++j)
    *reinterpret_cast<uint4*>(to + j * 512) = {state[j][0], state[j][1], state[j][2], state[j][3]};
  to[S::kPanels * 2048] = 0.0f;
}

// The state at the beginning of a segment, from the earlier ones in their order.
template <class S, int n>
__device__ void gather_state(const Bf16StateScan& k, const Bench<S>& w, uint32_t (&state)[n][4]) {
  float sum[8 * n] = {};
#pragma unroll 1
  for (int rank = k.initial ? 0 : 1; rank <= w.p.rank; ++rank) {
    const float* from = w.exchange(rank);
    const float decay = from[n * 512];
#pragma unroll
    for (int j = 0; j < n; ++j) {
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
#pragma unroll
  for (int j = 0; j < n; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      state[j][i] = packed<Factor>(sum[8 * j + 2 * i], sum[8 * j + 2 * i + 1]);
}

// The whole of a segment, from the state before it. The state is brought up to date panel by
// panel, in float32, two panels at a time.
template <class T, class S, bool kZ, int n>
__device__ void walk_bf16(const Bf16StateScan& scan, const Bench<S>& w, uint32_t (&state)[n][4],
                          Progress<S>& progress) {
  const HopperScan& k = w.k;
  const Lane& l = w.l;
  const bool skips = k.D && k.D_stride[1] != 0;
  uint32_t skip[4] = {};
  if (skips) read_skip(w, skip);
  auto& [ring, from, previous_row] = progress;
  for (Cutter<true> cut(k, w.p); !cut.done(); cut.next(k), ring.advance(), from.advance()) {
    const int at = ring.stage.at, row_at = ring.row.at, length = cut.length;
    const uint32_t stage = w.stages.base + at * S::kStage;
    const uint32_t tile = w.stages.row_base + row_at * S::kRowStage + w.warpgroup * kTile;
    const uint32_t weights = w.weights + from.at * S::kWeightStage;
    char* tile_memory = w.stages.row_memory + row_at * S::kRowStage + w.warpgroup * kTile;
    const Scalars& own = w.stages.scalars(at, l.slot);
    w.stages.full[at].wait(ring.stage.phase);
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
    wgmma_wait<1>();
    take_panel(state, 0, even);
    if constexpr (S::kPanels == 4) {
      start_panel(even, state, 2, decay, weighted, stage);
      wgmma_wait<1>();
      take_panel(state, 1, odd);
      start_panel(odd, state, 3, decay, weighted, stage);
      wgmma_wait<1>();
      take_panel(state, 2, even);
    }
    wgmma_wait<0>();
    take_panel(state, S::kPanels - 1, odd);
    pin(weighted);
    if (l.lane == 0) w.stages.empty[at].arrive();
    if (cut.at_checkpoint && l.stored) [[unlikely]]
      store_state(state,
                  scan.checkpoints + w.p.row * k.checkpoint_stride[0] +
                      cut.checkpoint * k.checkpoint_stride[1] + w.head * k.checkpoint_stride[2],
                  k.checkpoint_stride[3], k.dstate, w.row_in_head, l);
  }
}

}  // namespace hiss::cuda::ssd
