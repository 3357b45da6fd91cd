// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper_walk.cuh"

namespace hiss::cuda::ssd {

// The whole of a segment, from the state before it. Both warpgroups make the weights, half of the
// columns each; the next chunk's cb is multiplied beside the state.
template <class T, class S, bool kZ, int n>
__device__ void walk_together(const Bench<S>& w, float (&state)[n], Progress<S>& progress) {
  const HopperScan& k = w.k;
  const Lane& l = w.l;
  Cutter<true> cut(k, w.p);
  if (cut.done()) return;
  auto& ring = progress.ring;
  int& previous_row = progress.previous_row;
  const bool skips = k.D && k.D_stride[1] != 0;
  uint32_t skip[4] = {};
  if (skips) read_skip(w, skip);
  float cb[16], y[32];
  w.stages.full[ring.stage.at].wait(ring.stage.phase);
  convert_tiles<T, S>(w.stages.memory + ring.stage.at * S::kStage, 2 * S::kPanels, 128, 256);
  multiply_cb<S>(cb, w.stages.base + ring.stage.at * S::kStage, 8 * w.warpgroup);
  wgmma_wait<0>();
  pin(cb);
  bool waits = previous_row >= 0;  // for the others to have read the weights before
  if (waits) named_arrive(kWeightsRead + w.warpgroup, 256);
  while (!cut.done()) {
    const int at = ring.stage.at, row_at = ring.row.at, length = cut.length;
    const uint32_t stage = w.stages.base + at * S::kStage;
    const uint32_t tile = w.stages.row_base + row_at * S::kRowStage + w.warpgroup * kTile;
    char* tile_memory = w.stages.row_memory + row_at * S::kRowStage + w.warpgroup * kTile;
    const Scalars& own = w.stages.scalars(at, l.slot);
    if (length < kChunk) [[unlikely]]
      clear_rows<S>(w.stages.memory + at * S::kStage, tile_memory, length, w.warpgroup);

    uint32_t operand[4][4];
    read_state<S>(y, operand, state, stage);
    wgmma_wait<0>();  // or too many registers are in use
    pin(y);
    pin(operand);
    if (waits) named_barrier(kWeightsRead + 1 - w.warpgroup, 256);
    waits = true;
    store_all_weights(cb, w.weights, l, &w.stages.scalars(at, 0), w.p.slots, 8 * w.warpgroup);
    fence_async_proxy();
    uint32_t x[4][4];
    load_rows<T>(x, tile, l);
    const bool faults = any_fault(x);
    int2 first_fault = {kChunk, kChunk};
    if (faults) [[unlikely]] {
      first_fault = clear_faults<T>(tile_memory, l);
      load_rows<T>(x, tile, l);
    }
    wgmma_wait<0>();
    pin(y);
    decay_rows(y, own, l);
    named_barrier(kWeightsStored, 256);
    if (previous_row >= 0 && l.lane == 0) {
      if (l.warp == 0) wait_stores_read();
      w.stages.row_empty[previous_row].arrive();
    }
    previous_row = row_at;
    add_tokens<S>(y, x, w.weights + l.slot * kTile);
    uint32_t weighted[4][4];
    weigh_rows(weighted, x, l, own);
    const float end = own.from_start[kChunk - 1];
    const float decay[2] = {first_fault.x < kChunk ? NAN : end, first_fault.y < kChunk ? NAN : end};
    update_state(state, decay, weighted, stage);

    wgmma_wait<1>();  // x is to leave the registers
    pin(y);
    pin(x);
    const int64_t t = cut.t, checkpoint = cut.at_checkpoint ? cut.checkpoint : -1;
    cut.next(k);
    ring.advance();
    const bool more = !cut.done();
    if (more) {
      w.stages.full[ring.stage.at].wait(ring.stage.phase);
      convert_tiles<T, S>(w.stages.memory + ring.stage.at * S::kStage, 2 * S::kPanels, 128, 256);
    }
    multiply_cb<S>(cb, more ? w.stages.base + ring.stage.at * S::kStage : stage, 8 * w.warpgroup);
    wgmma_wait<2>();
    pin(y);
    if (more) named_arrive(kWeightsRead + w.warpgroup, 256);
    if (skips) [[unlikely]]
      add_skip<T>(y, skip, tile, l);
    finish_rows<T, kZ>(y, tile, l);
    if (faults) [[unlikely]]
      store_faults<T>(tile_memory, l, first_fault);
    fence_async_proxy();
    named_barrier(1 + w.warpgroup, 128);
    store_output(w, tile, tile_memory, t, length);
    wgmma_wait<0>();
    pin(state);
    pin(cb);
    pin(weighted);
    if (l.lane == 0) w.stages.empty[at].arrive();
    if (checkpoint >= 0) [[unlikely]]
      store_checkpoint(w, checkpoint, state);
  }
}

}  // namespace hiss::cuda::ssd
