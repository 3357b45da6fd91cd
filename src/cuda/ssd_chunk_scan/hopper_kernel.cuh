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
  // Where the thread's part of what follows segment `rank - 1` is handed on.
  __device__ float* exchange(int rank) const {
    return k.exchange +
           ((p.unit * k.segments + rank) * 2 + warpgroup) * exchange_floats(64 * S::kPanels) +
           threadIdx.x % 128;
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

template <class S, int n>
__device__ __forceinline__ void hand_on(const Bench<S>& w, int rank, const float (&state)[n],
                                        float decay) {
  float* to = w.exchange(rank);
#pragma unroll
  for (int i = 0; i < n; ++i) to[i * 128] = state[i];
  to[n * 128] = decay;
}

// The first pass over a segment that others follow: only its state, for them. The initial state
// is handed on apart, because the second pass may overwrite it.
template <class T, class S, int n>
__device__ void walk_states(const Bench<S>& w, float (&state)[n]) {
  if (w.p.rank == 0) {
    begin_state(w, state);
    hand_on(w, 0, state, 0.0f);
  }
#pragma unroll
  for (int i = 0; i < n; ++i) state[i] = 0;
  float total = 0;
  Rings<S> ring;
  Cutter<false> cut(w.k, w.p);
  uint32_t weighted[4][4], next[4][4];
  const auto prepare = [&](uint32_t(&to)[4][4]) {
    const int at = ring.stage.at;
    char* stage = w.stages.memory + at * S::kStage;
    w.stages.full[at].wait(ring.stage.phase);
    convert_tiles<T, S>(stage, S::kPanels);
    if (cut.length < kChunk) clear_rows<S>(stage, cut.length, w.warpgroup);
    weigh_rows<T>(to, w.stages.row_base + ring.row.at * S::kRowStage + w.warpgroup * kTile, w.l,
                  w.stages.scalars(at, w.l.slot), cut.length);
  };
  if (!cut.done()) prepare(weighted);
  while (!cut.done()) {
    const int at = ring.stage.at, row_at = ring.row.at;
    const Scalars& scalars = w.stages.scalars(at, w.l.slot);
    total += scalars.s[kChunk - 1];
    update_state(state, scalars.from_start[kChunk - 1], weighted, w.stages.base + at * S::kStage);
    cut.next(w.k);
    ring.advance();
    if (!cut.done()) prepare(next);
    wgmma_wait<0>();
    pin(state);
    if (w.l.lane == 0) {
      release(w, at);
      w.stages.row_empty[row_at].arrive();
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) weighted[j][i] = next[j][i];
  }
  hand_on(w, w.p.rank + 1, state, total);
}

// The state at the beginning of a segment, from the earlier ones in their order.
template <class S, int n>
__device__ void gather_state(const Bench<S>& w, float (&state)[n]) {
  const float* from = w.exchange(0);
#pragma unroll
  for (int i = 0; i < n; ++i) state[i] = from[i * 128];
  for (int rank = 1; rank <= w.p.rank; ++rank) {
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

// y = (y + skip x) SiLU(z), rounded, in place of x.
template <class T, bool kZ>
__device__ __forceinline__ void finish_rows(float (&y)[32], const float (&skip)[2],
                                            const Faults& faults, uint32_t tile, const Lane& l) {
  if (skip[0] != 0.0f || skip[1] != 0.0f) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      uint32_t x[4];
      load_transposed(x, tile + slab(l, j));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 v = unpacked<T>(x[i]);
        y[8 * j + 2 * i] += skip[i % 2] * v.x;
        y[8 * j + 2 * i + 1] += skip[i % 2] * v.y;
      }
    }
  }
  if (faults.any) {
#pragma unroll
    for (int i = 0; i < 32; ++i)
      if (i / 4 * 8 + l.column + i % 2 >= faults.first[i / 2 % 2]) y[i] = NAN;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    uint32_t out[4];
    if constexpr (kZ) {
      uint32_t z[4];
      load_transposed(z, tile + 2 * kTile + slab(l, j));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 v = unpacked<T>(z[i]);
        y[8 * j + 2 * i] *= silu(v.x);
        y[8 * j + 2 * i + 1] *= silu(v.y);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = packed<T>(y[8 * j + 2 * i], y[8 * j + 2 * i + 1]);
    store_transposed(tile + slab(l, j), out);
  }
}

// The whole of a segment, from the state before it.
template <class T, class S, int kHeads, bool kZ, int n>
__device__ void walk_outputs(const Bench<S>& w, float (&state)[n]) {
  const HopperScan& k = w.k;
  const Lane& l = w.l;
  Cutter<true> cut(k, w.p);
  if (cut.done()) return;
  Rings<S> ring;
  float skip[2] = {0, 0};  // where D is not one number a head, which the weights include
  if (k.D && k.D_stride[1] != 0)
    for (int i = 0; i < 2; ++i)
      skip[i] = k.D[w.head * k.D_stride[0] + (w.row_in_head + 8 * i) * k.D_stride[1]];
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
    const Scalars& own = w.stages.scalars(at, l.slot);
    if (length < kChunk) clear_rows<S>(w.stages.memory + at * S::kStage, length, w.warpgroup);

    uint32_t operand[S::kPanels > 2 ? 1 : 2][4][4];
    read_state<S>(y, operand, state, stage);
    if constexpr (S::kPanels > 2) wgmma_wait<0>();  // or too many registers are in use
    if (previous_row >= 0) named_barrier(kWeightsRead + 1 - w.warpgroup, 256);
    const RoundedCb cb2 = rounded(cb);
    for (int slot = 0; slot < w.p.slots; ++slot)
      store_weights(cb, cb2, w.weights + slot * kTile, l, w.stages.scalars(at, slot), w.warpgroup);
    fence_async_proxy();
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
    uint32_t weighted[4][4];
    weigh_rows<T>(weighted, tile, l, own, length);
    update_state(state, own.from_start[kChunk - 1], weighted, stage);

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
    finish_rows<T, kZ>(y, skip, faults, tile, l);
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

// Barriers, zeros above the diagonals, and the split into warps that copy and warps that compute.
template <class T, class S, bool kZ, bool kOutputs, class Compute>
__device__ __forceinline__ void run_block(const HopperScan& k, const Place& p, Compute&& compute) {
  extern __shared__ char unaligned[];
  char* memory = unaligned + (-shared_address(unaligned) & 1023);
  auto* barriers = reinterpret_cast<TransferBarrier*>(memory + S::kBarriers);
  char* rows = memory + S::kWeights + S::kStages * S::kStage;
  const Stages<S> stages{memory + S::kWeights,     rows,     shared_address(memory + S::kWeights),
                         shared_address(rows),     barriers, barriers + S::kStages,
                         barriers + 2 * S::kStages};
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::kStages; ++i) {
      stages.full[i].init(1 + p.slots);
      stages.empty[i].init(kComputingWarps * k.share);
    }
    for (int i = 0; i < S::kRowStages; ++i) stages.row_empty[i].init(kComputingWarps);
    fence_barrier_init();
  }
  for (int i = threadIdx.x; i < S::kWeights / 16; i += kThreads)
    reinterpret_cast<uint4*>(memory)[i] = {};
  fence_async_proxy();
  __syncthreads();
  if (k.share > 1) cluster_sync();  // nobody copies to a block that has not begun

  const int warpgroup = threadIdx.x / 128 - 1;
  if (warpgroup < 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp > 0)
      make_scalars<T, S, kOutputs>(k, p, stages, warp - 1, lane);
    else if (lane == 0)
      copy_tiles<S, kZ, kOutputs>(k, p, stages);
    __syncwarp();
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const Lane l = lane_of(k, p, warpgroup);
    compute(Bench<S>{k, p, stages, l, warpgroup, shared_address(memory),
                     static_cast<int64_t>(p.group) * p.heads_per_group + l.head,
                     (l.stored ? l.tile_row - l.head * k.headdim : 0) + l.lane / 4});
  }
  if (k.share > 1) cluster_sync();  // or one that has ended
}

// First pass: the blocks of all segments but the last.
template <class T, int kN, int kHeads>
__global__ __launch_bounds__(kThreads, 1) void hopper_states(const __grid_constant__ HopperScan k) {
  using S = Shared<kN, kHeads, false, false>;
  release_next_launch();
  run_block<T, S, false, false>(k, place_of(k, k.segments - 1), [](const Bench<S>& w) {
    float state[kN / 2];
    walk_states<T>(w, state);
  });
}

// Second pass, or the only one.
template <class T, int kN, int kHeads, bool kZ>
__global__ __launch_bounds__(kThreads,
                             1) void hopper_outputs(const __grid_constant__ HopperScan k) {
  using S = Shared<kN, kHeads, kZ, true>;
  run_block<T, S, kZ, true>(k, place_of(k, k.segments), [](const Bench<S>& w) {
    float state[kN / 2];
    if (w.k.segments == 1) {
      begin_state(w, state);
    } else {
      wait_for_previous_launch();
      gather_state(w, state);
    }
    walk_outputs<T, S, kHeads, kZ>(w, state);
    const HopperScan& k = w.k;
    if (k.final && w.p.rank == k.segments - 1 && w.l.stored)
      store_state(state, k.final + w.p.sequence * k.final_stride[0] + w.head * k.final_stride[1],
                  k.final_stride[2], k.dstate, w.row_in_head, w.l);
  });
}

}  // namespace hiss::cuda::ssd
