// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper_consumer.cuh"

namespace hiss::cuda::ssd {

// Where a thread's part of what follows segment `rank - 1` is handed on; of tails, what follows
// piece `rank - 1` of all, and 0 is the unit's initial state.
template <class S>
__device__ __forceinline__ float* exchange_of(const HopperScan& k, const Place& p, int warpgroup,
                                              int rank) {
  int64_t slot = p.unit * k.segments + rank;
  if (k.tails.part != 0)
    slot = rank > 0 ? rank - 1 : k.tails.numbers(static_cast<int>(k.units)) + p.unit;
  return k.exchange + (2 * slot + warpgroup) * exchange_floats(64 * S::kPanels) +
         threadIdx.x % 128 * 4;
}

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
  __device__ float* exchange(int rank) const { return exchange_of<S>(k, p, warpgroup, rank); }
};

template <class W>
__device__ const float* initial_of(const W& w) {
  return w.k.initial + w.p.sequence * w.k.initial_stride[0] + w.head * w.k.initial_stride[1];
}

template <class W, int n>
__device__ void begin_state(const W& w, float (&state)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) state[i] = 0;
  if (w.k.initial && w.l.stored)
    load_state<n>(initial_of(w), w.k.initial_stride[2], w.k.dstate, w.row_in_head, w.l,
                  [&](int i, float2 v) { state[i] = v.x, state[i + 1] = v.y; });
}

template <class W, int n>
__device__ __forceinline__ void hand_on(const W& w, int rank, const float (&state)[n],
                                        float decay) {
  float* to = w.exchange(rank);
#pragma unroll
  for (int i = 0; i < n; i += 4)
    *reinterpret_cast<float4*>(to + i * 128) = {state[i], state[i + 1], state[i + 2], state[i + 3]};
  to[n * 128] = decay;
}

// x, each token times what is left of it `after` the chunk's last one.
__device__ __forceinline__ void weigh_rows_after(uint32_t (&weighted)[4][4],
                                                 const uint32_t (&x)[4][4], const Lane& l,
                                                 const Scalars& scalars, float after) {
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = 16 * j + 8 * half + l.column;
      const float2 dt = *reinterpret_cast<const float2*>(&scalars.dt[at]);
      const uint32_t weight = packed<Factor>(dt.x * after, dt.y * after);
      weighted[j][2 * half] = times(x[j][2 * half], weight);
      weighted[j][2 * half + 1] = times(x[j][2 * half + 1], weight);
    }
}

// The first pass over a segment that others follow: only its state, for them. From the last chunk
// to the first each token's weight at the segment's end is known when it comes, and the state is a
// sum that products add to without a word between them. The initial state is handed on apart,
// because the second pass may overwrite it.
template <class T, class S, int n>
__device__ void walk_states(const Bench<S>& w, float (&state)[n], Progress<S>& progress) {
  if (w.k.initial && w.p.first) {
    begin_state(w, state);
    hand_on(w, 0, state, 0.0f);
  }
#pragma unroll
  for (int i = 0; i < n; ++i) state[i] = 0;
  float left = 0;  // log2 of what is left of the chunks so far
  Rings<S>& ring = progress.ring;
  int previous = -1, previous_row = -1;
  const auto release_previous = [&] {
    if (w.l.lane != 0 || previous < 0) return;
    w.stages.empty[previous].arrive();
    w.stages.row_empty[previous_row].arrive();
  };
  const auto add = [&](const Cutter<false>& cut, uint32_t(&mine)[4][4], uint32_t(&others)[4][4]) {
    const int at = ring.stage.at, tile = ring.row.at * S::kRowStage + w.warpgroup * kTile;
    char* stage = w.stages.memory + at * S::kStage;
    w.stages.full[at].wait(ring.stage.phase);
    convert_tiles<T, S>(stage, S::kPanels, 128, 256);
    if (cut.length < kChunk) [[unlikely]]
      clear_rows<S>(stage, w.stages.row_memory + tile, cut.length, w.warpgroup);
    const Scalars& scalars = w.stages.scalars(at, w.l.slot);
    const float after = exp2_flushed(left);
    left += scalars.s[kChunk - 1];
    uint32_t x[4][4];
    load_rows<T>(x, w.stages.row_base + tile, w.l);
    weigh_rows_after(mine, x, w.l, scalars, after);
    add_to_state(state, mine, w.stages.base + at * S::kStage);
    wgmma_wait<1>();
    pin(others);
    release_previous();
    previous = at, previous_row = ring.row.at;
    ring.advance();
  };
  uint32_t even[4][4] = {}, odd[4][4] = {};
  for (Cutter<false> cut(w.k, w.p); !cut.done(); cut.next(w.k)) {
    add(cut, even, odd);
    cut.next(w.k);
    if (cut.done()) break;
    add(cut, odd, even);
  }
  wgmma_wait<0>();
  pin(state);
  pin(even);
  pin(odd);
  release_previous();
  hand_on(w, w.p.rank + 1, state, exp2_flushed(left));
}

// The state at the beginning of a segment, from the earlier ones in their order.
template <class W, int n>
__device__ void gather_state(const W& w, float (&state)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) state[i] = 0;
  const auto add = [&](const float* from, float decay) {
#pragma unroll
    for (int i = 0; i < n; i += 4) {
      const float4 v = *reinterpret_cast<const float4*>(from + i * 128);
      state[i] = state[i] * decay + v.x, state[i + 1] = state[i + 1] * decay + v.y;
      state[i + 2] = state[i + 2] * decay + v.z, state[i + 3] = state[i + 3] * decay + v.w;
    }
  };
  if (w.k.tails.part != 0) [[unlikely]] {
    const int unit = static_cast<int>(w.p.unit);
    if (w.k.initial) add(w.exchange(0), 0.0f);
#pragma unroll 1
    for (int chunk = 0; chunk < w.p.rank; chunk = w.k.tails.next(unit, chunk)) {
      const float* from = w.exchange(1 + w.k.tails.number(unit, chunk));
      add(from, from[n * 128]);
    }
    return;
  }
  const int first = w.k.initial ? 0 : 1;  // what is not zero
  for (int rank = first; rank <= w.p.rank; ++rank) {
    const float* from = w.exchange(rank);
    add(from, rank == first ? 0.0f : from[n * 128]);
  }
}

// y of one chunk to memory, from the place of its x.
template <class S>
__device__ void store_output(const Bench<S>& w, uint32_t tile, const char* tile_memory, int64_t t,
                             int length) {
  const HopperScan& k = w.k;
  const int rows = w.p.heads_per_group * k.headdim, row0 = w.p.group * rows + 64 * w.l.tile;
  const int thread = threadIdx.x % 128;
  if (length == kChunk && 64 * w.l.tile + 64 <= rows) [[likely]] {
    if (thread == 0) store_tile(&k.y, tile, row0, static_cast<int>(t), static_cast<int>(w.p.row));
    return;
  }
  uint16_t* y = static_cast<uint16_t*>(k.y_data) + w.p.row * k.y_stride[0] + row0;
#pragma unroll 1
  for (int i = thread; i < 8 * length; i += 128) {
    if (64 * w.l.tile + i % 8 * 8 >= rows) continue;
    *reinterpret_cast<uint4*>(y + (t + i / 8) * k.y_stride[1] + i % 8 * 8) =
        *reinterpret_cast<const uint4*>(tile_memory + swizzled(i / 8, i % 8));
  }
}

// y = y SiLU(z), rounded, in place of x.
template <class T, bool kZ>
__device__ __forceinline__ void finish_rows(float (&y)[32], uint32_t tile, const Lane& l) {
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

// y += x^T weights^T for the head of the tile.
template <class S>
__device__ __forceinline__ void add_tokens(float (&y)[32], const uint32_t (&x)[4][4],
                                           uint32_t weights) {
  const uint64_t w = rows_are_outer(weights);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4; ++j) wgmma<Factor, false>(y, x[j], further(w, 32 * j), 1);
  wgmma_commit();
}

// The same by each warp for its own head, where heads meet in the tile.
__device__ __forceinline__ void add_tokens_by_warp(float (&y)[32], const uint32_t (&x)[4][4],
                                                   uint32_t weights, const Lane& l) {
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 2 * j; i < 8; i += 2) {  // tokens 8 i ... 8 i + 15 see tokens 16 j ...
      uint32_t b[4];
      load_matrices(
          b, weights + swizzled(8 * i + l.lane % 8 + (l.lane & 16) / 2, 2 * j + (l.lane & 8) / 8));
      multiply_in_warp(&y[4 * i], x[j], b[0], b[1]);
      multiply_in_warp(&y[4 * i + 4], x[j], b[2], b[3]);
    }
}

// D where it is not one number a head, which the weights include: as a diagonal of the warp's rows
// by itself, an operand.
template <class S>
__device__ __forceinline__ void read_skip(const Bench<S>& w, uint32_t (&skip)[4]) {
  const HopperScan& k = w.k;
  float d[2];
  for (int i = 0; i < 2; ++i)
    d[i] = w.l.stored ? k.D[w.head * k.D_stride[0] + (w.row_in_head + 8 * i) * k.D_stride[1]] : 0;
  const int gap = w.l.lane / 4 - w.l.column;
  skip[0] = packed<Factor>(gap == 0 ? d[0] : 0.0f, gap == 1 ? d[0] : 0.0f);
  skip[1] = skip[2] = 0;
  skip[3] = packed<Factor>(gap == 0 ? d[1] : 0.0f, gap == 1 ? d[1] : 0.0f);
}

// y += D x, x from its tile.
template <class T>
__device__ __forceinline__ void add_skip(float (&y)[32], const uint32_t (&skip)[4], uint32_t tile,
                                         const Lane& l) {
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    uint32_t x[4];
    load_matrices(
        x, tile + swizzled(8 * i + l.lane % 8 + (l.lane & 16) / 2, 2 * l.warp + (l.lane & 8) / 8));
    multiply_in_warp(&y[4 * i], skip, as_factors<T>(x[0]), as_factors<T>(x[1]));
    multiply_in_warp(&y[4 * i + 4], skip, as_factors<T>(x[2]), as_factors<T>(x[3]));
  }
}

__device__ __forceinline__ void decay_rows(float (&y)[32], const Scalars& scalars, const Lane& l) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float2 e = *reinterpret_cast<const float2*>(&scalars.from_start[8 * i + l.column]);
    y[4 * i] *= e.x, y[4 * i + 1] *= e.y, y[4 * i + 2] *= e.x, y[4 * i + 3] *= e.y;
  }
}

template <class S, int n>
__device__ __forceinline__ void store_checkpoint(const Bench<S>& w, int64_t checkpoint,
                                                 const float (&state)[n]) {
  const HopperScan& k = w.k;
  if (w.l.stored)
    store_state(state,
                k.checkpoints + w.p.row * k.checkpoint_stride[0] +
                    checkpoint * k.checkpoint_stride[1] + w.head * k.checkpoint_stride[2],
                k.checkpoint_stride[3], k.dstate, w.row_in_head, w.l);
}

}  // namespace hiss::cuda::ssd
