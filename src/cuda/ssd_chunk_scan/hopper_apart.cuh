// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper_walk.cuh"

// The second pass where one warpgroup makes the weights for the two that hold the state.
namespace hiss::cuda::ssd {

// The weights of every chunk of the segment.
template <class T, class S>
__device__ void make_weights(const HopperScan& k, const Place& p, const Stages<S>& stages,
                             uint32_t weights, Progress<S>& progress) {
  Lane l{};
  l.warp = (threadIdx.x / 32) % 4, l.lane = threadIdx.x % 32;
  l.row = 16 * l.warp + l.lane / 4, l.column = 2 * (l.lane % 4);
  auto& ring = progress.ring;
  auto& to = progress.weights;
  for (Cutter<true> cut(k, p); !cut.done(); cut.next(k), ring.advance()) {
    const int at = ring.stage.at;
    stages.full[at].wait(ring.stage.phase);
    if (cut.t < p.begin) {
      if (l.lane == 0) stages.empty[at].arrive();
      continue;
    }
    float cb[32];
    convert_tiles<T, S>(stages.memory + at * S::kStage, 2 * S::kPanels, 384, 128);
    multiply_cb<S>(cb, stages.base + at * S::kStage);
    wgmma_wait<0>();
    pin(cb);
    stages.weights_empty[to.at].wait(to.phase ^ 1);
    store_all_weights<S::kTogether>(cb, weights + to.at * S::kWeightStage, l,
                                    &stages.scalars(at, 0), p.slots);
    fence_async_proxy();
    __syncwarp();
    if (l.lane == 0) {
      stages.weights_full[to.at].arrive();
      stages.empty[at].arrive();
    }
    to.advance();
  }
}

// x of the chunk at hand. Whether any of it is no finite number: such are taken as zeros, and
// first_fault has the first of each of the lane's rows.
template <class T>
__device__ __forceinline__ bool load_clean_rows(uint32_t (&x)[4][4], int2& first_fault,
                                                uint32_t tile, char* tile_memory, const Lane& l) {
  load_rows<T>(x, tile, l);
  const bool faults = any_fault(x);
  first_fault = {kChunk, kChunk};
  if (faults) [[unlikely]] {
    first_fault = clear_faults<T>(tile_memory, l);
    load_rows<T>(x, tile, l);
  }
  return faults;
}

// y += W x, as soon as the weights are there.
template <class S, class Weights>
__device__ __forceinline__ void add_weighted_tokens(const Bench<S>& w, const Weights& from,
                                                    uint32_t weights, float (&y)[32],
                                                    uint32_t (&x)[4][4]) {
  w.stages.weights_full[from.at].wait(from.phase);
  const uint32_t tile = weights + w.l.slot * kTile;
  if constexpr (S::kMixed)
    add_tokens_by_warp(y, x, tile, w.l);
  else
    add_tokens<S>(y, x, tile);
}

// By one lane of a warp: the row before this one may be written, once its output has left it.
template <class S>
__device__ __forceinline__ void give_back_row(const Bench<S>& w, int previous_row) {
  if (previous_row < 0) return;
  if (w.l.warp == 0) wait_stores_read();
  w.stages.row_empty[previous_row].arrive();
}

// y in the place of x, with D, z and what a number that is not finite makes of it.
template <class T, bool kZ>
__device__ __forceinline__ void write_row(float (&y)[32], bool skips, const uint32_t (&skip)[4],
                                          uint32_t tile, char* tile_memory, bool faults,
                                          int2 first_fault, const Lane& l) {
  if (skips) [[unlikely]]
    add_skip<T>(y, skip, tile, l);
  finish_rows<T, kZ>(y, tile, l);
  if (faults) [[unlikely]]
    store_faults<T>(tile_memory, l, first_fault);
  fence_async_proxy();
}

// A chunk before the block's range, for the state.
template <class T, class S, int n>
__device__ __forceinline__ void walk_ahead(const Bench<S>& w, float (&state)[n],
                                           const Rings<S>& ring, int& previous_row) {
  const int at = ring.stage.at, row_at = ring.row.at;
  const Scalars& own = w.stages.scalars(at, w.l.slot);
  convert_tiles<T, S>(w.stages.memory + at * S::kStage, S::kPanels, 128, 256);
  uint32_t x[4][4], weighted[4][4];
  load_rows<T>(x, w.stages.row_base + row_at * S::kRowStage + w.warpgroup * kTile, w.l);
  weigh_rows(weighted, x, w.l, own);
  const float decay[2] = {own.from_start[kChunk - 1], own.from_start[kChunk - 1]};
  decay_state(state, decay);
  add_to_state(state, weighted, w.stages.base + at * S::kStage);
  wgmma_wait<0>();
  pin(state);
  pin(weighted);
  if (w.l.lane == 0) {
    w.stages.empty[at].arrive();
    w.stages.row_empty[row_at].arrive();
    give_back_row(w, previous_row);
  }
  previous_row = -1;
}

// The whole of a segment, from the state before it.
template <class T, class S, bool kZ, int n>
__device__ void walk_rows(const Bench<S>& w, float (&state)[n], Progress<S>& progress) {
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

    float y[32];
    uint32_t operand[S::kLong ? 4 : 4 * S::kPanels][4], x[4][4];
    read_state<S>(y, operand, state, stage);
    if constexpr (S::kLong) {  // or too many registers are in use
      wgmma_wait<0>();
      pin(y);
      pin(operand);
    }
    int2 first_fault;
    const bool faults = load_clean_rows<T>(x, first_fault, tile, tile_memory, l);
    wgmma_wait<0>();
    pin(y);
    pin(operand);
    decay_rows(y, own, l);
    add_weighted_tokens(w, from, weights, y, x);
    const float end = own.from_start[kChunk - 1];
    const float decay[2] = {first_fault.x < kChunk ? NAN : end, first_fault.y < kChunk ? NAN : end};
    uint32_t weighted[4][4];
    if constexpr (S::kLong) {
      decay_state(state, decay);
      wgmma_wait<0>();
      pin(y);
      pin(x);
      weigh_rows(weighted, x, l, own);
      add_to_state(state, weighted, stage);
    } else {
      weigh_rows(weighted, x, l, own);
      decay_state(state, decay);
      add_to_state(state, weighted, stage);
      wgmma_wait<1>();
      pin(y);
      pin(x);
    }
    if (l.lane == 0) {
      w.stages.weights_empty[from.at].arrive();
      give_back_row(w, previous_row);
    }
    previous_row = row_at;
    write_row<T, kZ>(y, skips, skip, tile, tile_memory, faults, first_fault, l);
    named_barrier(1 + w.warpgroup, 128);
    store_output(w, tile, tile_memory, cut.t, length);
    wgmma_wait<0>();
    pin(state);
    pin(weighted);
    if (l.lane == 0) w.stages.empty[at].arrive();
    from.advance();
    if (cut.at_checkpoint) [[unlikely]]
      store_checkpoint(w, cut.checkpoint, state);
  }
}

}  // namespace hiss::cuda::ssd
