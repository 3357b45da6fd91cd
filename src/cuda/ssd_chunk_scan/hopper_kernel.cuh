// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper_consumer.cuh"

namespace hiss::cuda::ssd {

// What a computing thread knows besides its registers of data.
template <class S>
struct Bench {
  const HopperScan& k;
  const Place& p;
  const Stages<S>& stages;
  const Lane& l;
  int warpgroup;
  uint32_t weights;  // of tokens in tokens, a tile for each head of the block
  int64_t head;      // of its rows, among all heads
  int row_in_head;   // of its first row
  __device__ float* exchange(int rank) const {
    return k.exchange +
           ((p.unit * (k.segments - 1) + rank) * 2 + warpgroup) * exchange_floats(64 * S::kPanels) +
           threadIdx.x % 128;
  }
  __device__ const Scalars& scalars(int stage, int slot) const {
    return reinterpret_cast<const Scalars*>(stages.memory + stage * S::kStage + S::kScalars)[slot];
  }
};

// One lane of each warp: B, C and the scalars of a stage are done with.
template <class S>
__device__ __forceinline__ void release(const Bench<S>& w, int stage) {
  w.stages.empty[stage].arrive();
  if (w.k.share == 2) w.stages.empty[stage].arrive_at(rank_in_cluster() ^ 1);
}

template <class S, int n>
__device__ void begin_state(const Bench<S>& w, float (&state)[n]) {
  const HopperScan& k = w.k;
#pragma unroll
  for (int i = 0; i < n; ++i) state[i] = 0;
  if (k.initial && w.l.stored)
    load_state(state, k.initial + w.p.sequence * k.initial_stride[0] + w.head * k.initial_stride[1],
               k.initial_stride[2], k.dstate, w.row_in_head, w.l);
}

// The first pass over a segment that others follow: only its state, for them.
template <class T, class S, int n>
__device__ void walk_states(const Bench<S>& w, Rings<S>& ring, float (&state)[n]) {
  if (w.p.rank == 0) {
    begin_state(w, state);
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i) state[i] = 0;
  }
  float total = 0;
  for (int64_t t = w.p.begin; t < w.p.end; t += kChunk) {
    const int length = w.p.end - t < kChunk ? static_cast<int>(w.p.end - t) : kChunk;
    const int at = ring.stage.at;
    w.stages.full[at].wait(ring.stage.phase);
    convert_tiles<T, S>(w.stages.memory + at * S::kStage, S::kPanels);
    if (length < kChunk) clear_rows<S>(w.stages.memory + at * S::kStage, length, w.warpgroup);
    const Scalars& scalars = w.scalars(at, w.l.slot);
    uint32_t scaled[4][4];
    update_state<T, S>(state, scaled, w.stages.base + at * S::kStage,
                       w.stages.row_base + ring.row.at * S::kRowStage + w.warpgroup * kTile, w.l,
                       scalars, length);
    total += scalars.s[kChunk - 1];
    wgmma_wait<0>();
    pin(state);
    if (w.l.lane == 0) {
      release(w, at);
      w.stages.row_empty[ring.row.at].arrive();
    }
    ring.advance();
  }
  float* to = w.exchange(w.p.rank);
#pragma unroll
  for (int i = 0; i < n; ++i) to[i * 128] = state[i];
  to[n * 128] = total;
}

// The state at the beginning of a segment, from the earlier ones in their order.
template <class S, int n>
__device__ void gather_state(const Bench<S>& w, float (&state)[n]) {
  const float* from = w.exchange(0);
#pragma unroll
  for (int i = 0; i < n; ++i) state[i] = from[i * 128];
  for (int rank = 1; rank < w.p.rank; ++rank) {
    from = w.exchange(rank);
    const float decay = exp2_flushed(from[n * 128]);
#pragma unroll
    for (int i = 0; i < n; ++i) state[i] = state[i] * decay + from[i * 128];
  }
}

// y of one chunk to memory, from the place of its x.
template <class S>
__device__ void store_output(const Bench<S>& w, uint32_t tile, const char* tile_memory, int64_t t,
                             int length) {
  const HopperScan& k = w.k;
  const int rows = w.p.heads_per_group * k.headdim, row0 = w.p.group * rows + 64 * w.l.tile;
  const int thread = threadIdx.x % 128;
  if (length == kChunk && 64 * w.l.tile + 64 <= rows) {
    if (thread == 0) store_tile(&k.y, tile, row0, static_cast<int>(t), static_cast<int>(w.p.row));
    return;
  }
  uint16_t* y = static_cast<uint16_t*>(k.y_data) + w.p.row * k.y_stride[0] + row0;
  for (int i = thread; i < 8 * length; i += 128) {
    if (64 * w.l.tile + i % 8 * 8 >= rows) continue;
    *reinterpret_cast<uint4*>(y + (t + i / 8) * k.y_stride[1] + i % 8 * 8) =
        *reinterpret_cast<const uint4*>(tile_memory + swizzled(i / 8, i % 8));
  }
}

// y = (y + D x) SiLU(z), rounded, in place of x.
template <class T, bool kZ>
__device__ __forceinline__ void finish_rows(const float (&y)[32], const float (&skip)[2],
                                            const Faults& faults, uint32_t tile, uint32_t gate,
                                            const Lane& l) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    uint32_t x[4], z[4], out[4];
    load_transposed(x, tile + slab(l, j));
    if constexpr (kZ) load_transposed(z, gate + slab(l, j));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 v = unpacked<T>(x[i]);
      float a = y[8 * j + 2 * i] + skip[i % 2] * v.x;
      float b = y[8 * j + 2 * i + 1] + skip[i % 2] * v.y;
      if constexpr (kZ) {
        const float2 g = unpacked<T>(z[i]);
        a *= silu(g.x);
        b *= silu(g.y);
      }
      if (faults.any) {
        const int token = 16 * j + 8 * (i / 2) + l.column;
        if (token >= faults.first[i % 2]) a = NAN;
        if (token + 1 >= faults.first[i % 2]) b = NAN;
      }
      out[i] = packed<T>(a, b);
    }
    store_transposed(tile + slab(l, j), out);
  }
}

// The whole of a segment, from the state before it.
template <class T, class S, int kHeads, bool kZ, int n>
__device__ void walk_outputs(const Bench<S>& w, Rings<S>& ring, float (&state)[n]) {
  const HopperScan& k = w.k;
  const Lane& l = w.l;
  Cutter cut(k, w.p);
  if (cut.done()) return;
  float skip[2] = {0, 0};
  if (k.D)
    for (int i = 0; i < 2; ++i)
      skip[i] = k.D[w.head * k.D_stride[0] + (w.row_in_head + 8 * i) * k.D_stride[1]];
  const int slots =
      min(S::kSlots,
          min(kBlockRows * (w.p.block + 1) - 1, w.p.heads_per_group * k.headdim - 1) / k.headdim -
              w.p.first_head + 1);
  float cb[16], y[32];
  w.stages.full[ring.stage.at].wait(ring.stage.phase);
  convert_tiles<T, S>(w.stages.memory + ring.stage.at * S::kStage, 2 * S::kPanels);
  multiply_cb<S>(cb, w.stages.base + ring.stage.at * S::kStage, w.warpgroup);
  wgmma_wait<0>();
  pin(cb);
  int previous_row = -1;
  while (!cut.done()) {
    const int at = ring.stage.at, row_at = ring.row.at, length = cut.length;
    const uint32_t stage = w.stages.base + at * S::kStage;
    const uint32_t tile = w.stages.row_base + row_at * S::kRowStage + w.warpgroup * kTile;
    const Scalars& own = w.scalars(at, l.slot);
    if (length < kChunk) clear_rows<S>(w.stages.memory + at * S::kStage, length, w.warpgroup);

    uint32_t rounded[S::kPanels > 2 ? 1 : 2][4][4];
    read_state<S>(y, rounded, state, stage);
    if (previous_row >= 0) named_barrier(kWeightsRead + 1 - w.warpgroup, 256);
    for (int slot = 0; slot < slots; ++slot)
      store_weights(cb, w.weights + slot * kTile, l, w.scalars(at, slot), w.warpgroup);
    fence_async_proxy();
    if constexpr (S::kPanels > 2) wgmma_wait<0>();  // or too many registers are in use
    uint32_t x[4][4];
#pragma unroll
    for (int j = 0; j < 4; ++j) load_rows<T>(x[j], tile, l, j, length);
    const Faults faults = find_faults(x, l);
    wgmma_wait<0>();
    pin(y);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float2 e = *reinterpret_cast<const float2*>(&own.from_start[8 * i + l.column]);
      y[4 * i] *= e.x, y[4 * i + 1] *= e.y, y[4 * i + 2] *= e.x, y[4 * i + 3] *= e.y;
    }
    named_barrier(kWeightsStored, 256);
    if (previous_row >= 0 && l.lane == 0) {
      if (l.warp == 0) wait_stores_read();
      w.stages.row_empty[previous_row].arrive();
    }
    previous_row = row_at;
    uint32_t masked[kHeads][4][4];
#pragma unroll
    for (int head = 0; head < kHeads; ++head)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          masked[head][j][i] = kHeads == 1 || l.slot == l.first_slot + head ? x[j][i] : 0;
    const uint64_t weights = rows_are_outer(w.weights + l.first_slot * kTile);
    wgmma_fence();
#pragma unroll
    for (int head = 0; head < kHeads; ++head)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        wgmma<Factor, false>(y, masked[head][j], further(weights, head * kTile + 32 * j), 1);
    wgmma_commit();
    uint32_t scaled[4][4];
    update_state<T, S>(state, scaled, stage, tile, l, own, length);

    if constexpr (S::kPanels > 2) {  // x is to leave the registers
      wgmma_wait<1>();
      pin(y);
    }
    const int64_t t = cut.t, checkpoint = cut.at_checkpoint ? cut.checkpoint : -1;
    cut.next(k);
    ring.advance();
    const bool more = !cut.done();
    if (more) {
      w.stages.full[ring.stage.at].wait(ring.stage.phase);
      convert_tiles<T, S>(w.stages.memory + ring.stage.at * S::kStage, 2 * S::kPanels);
    }
    multiply_cb<S>(cb, more ? w.stages.base + ring.stage.at * S::kStage : stage, w.warpgroup);
    wgmma_wait<2>();
    pin(y);
    if (more) named_arrive(kWeightsRead + w.warpgroup, 256);
    finish_rows<T, kZ>(y, skip, faults, tile, tile + S::kGate, l);
    fence_async_proxy();
    named_barrier(1 + w.warpgroup, 128);
    store_output(w, tile, w.stages.row_memory + row_at * S::kRowStage + w.warpgroup * kTile, t,
                 length);
    wgmma_wait<0>();
    pin(state);
    pin(cb);
    if (l.lane == 0) release(w, at);
    if (checkpoint >= 0 && l.stored)
      store_state(state,
                  k.checkpoints + w.p.row * k.checkpoint_stride[0] +
                      checkpoint * k.checkpoint_stride[1] + w.head * k.checkpoint_stride[2],
                  k.checkpoint_stride[3], k.dstate, w.row_in_head, l);
  }
  if (l.lane == 0 && l.warp == 0) wait_stores_read();
}

template <class T, int kN, int kHeads, bool kZ>
__global__ __launch_bounds__(kThreads, 1) void hopper_scan(const __grid_constant__ HopperScan k) {
  using S = Shared<kN, kHeads, kZ>;
  extern __shared__ char unaligned[];
  const uint32_t skip = -shared_address(unaligned) & 1023;
  char* memory = unaligned + skip;
  auto* barriers = reinterpret_cast<TransferBarrier*>(memory + S::kBarriers);
  char* rows = memory + S::kWeights + S::kStages * S::kStage;
  const Stages<S> stages{memory + S::kWeights,     rows,     shared_address(memory + S::kWeights),
                         shared_address(rows),     barriers, barriers + S::kStages,
                         barriers + 2 * S::kStages};
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::kStages; ++i) {
      stages.full[i].init(4);
      stages.empty[i].init(kComputingWarps * k.share);
    }
    for (int i = 0; i < S::kRowStages; ++i) stages.row_empty[i].init(kComputingWarps);
    fence_barrier_init();
  }
  for (int i = threadIdx.x; i < S::kWeights / 16; i += kThreads)
    reinterpret_cast<uint4*>(memory)[i] = {};
  fence_async_proxy();
  const bool in_cluster = k.segments * k.share > 1;
  if (in_cluster) {
    cluster_arrive();
    cluster_wait();
  } else {
    __syncthreads();
  }

  const Place p = place_of(k);
  const bool leads = p.rank + 1 < k.segments;  // others start from its end
  Rings<S> ring;
  const int warpgroup = threadIdx.x / 128 - 1;
  if (warpgroup < 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (leads) {
      if (warp > 0)
        make_scalars<T, S, true>(k, p, stages, ring, warp - 1, lane);
      else if (lane == 0)
        copy_tiles<S, kZ, true>(k, p, stages, ring);
      __syncwarp();
    }
    if (in_cluster) cluster_arrive();
    if (warp > 0)
      make_scalars<T, S, false>(k, p, stages, ring, warp - 1, lane);
    else if (lane == 0)
      copy_tiles<S, kZ, false>(k, p, stages, ring);
    __syncwarp();
    if (in_cluster) {
      cluster_wait();
      cluster_arrive();
      cluster_wait();
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  const Lane l = lane_of(k, p, warpgroup);
  const Bench<S> w{k,
                   p,
                   stages,
                   l,
                   warpgroup,
                   shared_address(memory),
                   static_cast<int64_t>(p.group) * p.heads_per_group + l.head,
                   (l.stored ? l.tile_row - l.head * k.headdim : 0) + l.lane / 4};
  float state[kN / 2];
  if (leads) walk_states<T>(w, ring, state);
  if (in_cluster) {  // the states are there
    cluster_arrive();
    cluster_wait();
  }
  if (p.rank == 0)
    begin_state(w, state);
  else
    gather_state(w, state);
  walk_outputs<T, S, kHeads, kZ>(w, ring, state);
  if (in_cluster) {  // initial states are read and may be overwritten; nobody needs this memory
    cluster_arrive();
    cluster_wait();
  }
  if (k.final && !leads && l.stored)
    store_state(state, k.final + p.sequence * k.final_stride[0] + w.head * k.final_stride[1],
                k.final_stride[2], k.dstate, w.row_in_head, l);
}

}  // namespace hiss::cuda::ssd
