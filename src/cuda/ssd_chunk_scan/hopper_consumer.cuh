// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper_producer.cuh"

// The computing warpgroups. Each owns one tile of 64 rows (row = channel of a head) for all states:
// the state is the accumulator of 64 x kN, in registers from the first token to the last.
namespace hiss::cuda::ssd {

// Named barriers; 1 and 2 are the warpgroups'. Weights are read by warpgroup 0, and 1 (5).
constexpr int kWeightsStored = 3, kWeightsRead = 4, kConverted = 6;

constexpr int kComputingWarps = 8;
constexpr int kThreads = 384;  // a producing warpgroup and two computing ones

// A thread's place in its warpgroup's tile: rows `row` and `row + 8`, columns 8 i + column + {0,1}.
struct Lane {
  int warp, lane, row, column;
  int tile_row;                 // of the warp's first row, among the group's rows
  int head, slot;               // of the warp's rows: in the group, among the block's heads
  bool stored;                  // the warp's rows exist
  int tile, first_slot, heads;  // of the warpgroup: its tile; heads with rows in it
};

__device__ inline Lane lane_of(const HopperScan& k, const Place& p, int warpgroup) {
  Lane l;
  l.warp = (threadIdx.x / 32) % 4;
  l.lane = threadIdx.x % 32;
  l.row = 16 * l.warp + l.lane / 4;
  l.column = 2 * (l.lane % 4);
  l.tile = 2 * p.block + warpgroup;
  const int rows = p.heads_per_group * k.headdim, first = min(64 * l.tile, rows - 1);
  l.tile_row = 64 * l.tile + 16 * l.warp;
  l.stored = l.tile_row < rows;
  l.head = min(l.tile_row, rows - 1) / k.headdim;
  l.slot = l.head - p.first_head;
  l.first_slot = first / k.headdim - p.first_head;
  l.heads = min(64 * l.tile + 63, rows - 1) / k.headdim - p.first_head - l.first_slot + 1;
  return l;
}

// Where lane l's row of the four 8x8 matrices lies: tokens 16 j ... 16 j + 15 of the warp's rows in
// a tile of x, z or y.
__device__ __forceinline__ uint32_t slab(const Lane& l, int j) {
  return swizzled(16 * j + l.lane % 8 + (l.lane & 16) / 2, 2 * l.warp + (l.lane & 8) / 8);
}

template <class T>
__device__ __forceinline__ uint32_t as_factors(uint32_t two) {
  if constexpr (std::is_same_v<T, Factor>) return two;
  const float2 v = unpacked<T>(two);
  return packed<Factor>(v.x, v.y);
}

__device__ __forceinline__ uint32_t times(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}

// B and C of a stage as factors, by both warpgroups.
template <class T, class S>
__device__ __forceinline__ void convert_tiles(char* stage, int tiles) {
  if constexpr (!std::is_same_v<T, Factor>) {
    for (int i = threadIdx.x - 128; i < tiles * kTile / 16; i += 256) {
      uint4& piece = reinterpret_cast<uint4*>(stage)[i];
      piece = {as_factors<T>(piece.x), as_factors<T>(piece.y), as_factors<T>(piece.z),
               as_factors<T>(piece.w)};
    }
    fence_async_proxy();
    named_barrier(kConverted, 256);
  }
}

// 16 tokens of the warp's rows as an operand; tokens from `length` on read as zero.
template <class T>
__device__ __forceinline__ void load_rows(uint32_t (&x)[4], uint32_t tile, const Lane& l, int j,
                                          int length) {
  load_transposed(x, tile + slab(l, j));
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = as_factors<T>(x[i]);
  if (length == kChunk) return;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int token = 16 * j + 8 * (i / 2) + l.column;
    x[i] &= (token < length ? 0xffffu : 0) | (token + 1 < length ? 0xffff0000u : 0);
  }
}

// Rows of B that belong to no token of this chunk must be finite: they meet zeros.
template <class S>
__device__ void clear_rows(char* b, int length, int warpgroup) {
  const int thread = threadIdx.x % 128;
  for (int panel = 0; panel < S::kPanels; ++panel)
    for (int row = length + thread / 8; row < kChunk; row += 16)
      *reinterpret_cast<uint4*>(b + panel * kTile + row * 128 + thread % 8 * 16) = {};
  fence_async_proxy();
  named_barrier(1 + warpgroup, 128);
}

// x, each token times what is left of it at the end of the chunk.
template <class T>
__device__ __forceinline__ void weigh_rows(uint32_t (&weighted)[4][4], uint32_t x, const Lane& l,
                                           const Scalars& scalars, int length) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    load_rows<T>(weighted[j], x, l, j, length);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      weighted[j][i] = times(weighted[j][i], scalars.to_end[8 * j + 4 * (i / 2) + l.column / 2]);
  }
}

// state = state decay + weighted B
template <int n>
__device__ __forceinline__ void update_state(float (&state)[n], float decay,
                                             const uint32_t (&weighted)[4][4], uint32_t stage) {
#pragma unroll
  for (int i = 0; i < n; ++i) state[i] *= decay;
  const uint64_t b = rows_are_products(stage, kTile);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4; ++j) wgmma<Factor, true>(state, weighted[j], further(b, j * 2048), 1);
  wgmma_commit();
}

// cb = C B^T of a stage's chunk: all rows; of the columns, each warpgroup has every other eight.
template <class S>
__device__ __forceinline__ void multiply_cb(float (&cb)[16], uint32_t stage, int warpgroup) {
  const uint64_t c = rows_are_outer(stage + S::kC);
  const uint64_t b = rows_are_outer(stage + 1024 * warpgroup, 2048);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4 * S::kPanels; ++j) {
    const uint32_t at = j / 4 * kTile + j % 4 * 32;
    wgmma<Factor, false>(cb, further(c, at), further(b, at), j > 0);
  }
  wgmma_commit();
}

// y = state C^T, in steps of 64 states.
template <class S, int n>
__device__ __forceinline__ void read_state(float (&y)[32],
                                           uint32_t (&rounded)[S::kPanels > 2 ? 1 : 2][4][4],
                                           const float (&state)[n], uint32_t stage) {
  const uint64_t c = rows_are_outer(stage + S::kC);
  constexpr int kBuffers = S::kPanels > 2 ? 1 : 2;
#pragma unroll
  for (int panel = 0; panel < S::kPanels; ++panel) {
    if (S::kPanels > 2 && panel >= 1) {
      wgmma_wait<0>();
      pin(y);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 32 * panel + 8 * j + 2 * i;
        rounded[panel % kBuffers][j][i] = packed<Factor>(state[at], state[at + 1]);
      }
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < 4; ++j)
      wgmma<Factor, false>(y, rounded[panel % kBuffers][j], further(c, panel * kTile + j * 32),
                           panel + j > 0);
    wgmma_commit();
  }
}

// cb rounded: of each block of 16 columns, rows `row` and `row + 8`.
struct RoundedCb {
  uint32_t at[4][2];
};

__device__ __forceinline__ RoundedCb rounded(const float (&cb)[16]) {
  RoundedCb r;
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 2; ++i)
      r.at[j][i] = packed<Factor>(cb[4 * j + 2 * i], cb[4 * j + 2 * i + 1]);
  return r;
}

// The weights of tokens j <= i in token i, for one head, into shared memory:
// cb dt_j exp2(s_i - s_j), and D more where i is j. Blocks of 16 above the diagonal are zero from
// the start; below it the exponential is a product of two that are at most 1 when the state
// decays, by way of the row block's first token.
__device__ __forceinline__ void store_weights(const float (&cb)[16], const RoundedCb& cb2,
                                              uint32_t weights, const Lane& l,
                                              const Scalars& scalars, int warpgroup) {
  const float s0 = scalars.s[l.row], s1 = scalars.s[l.row + 8], skip = scalars.skip;
  const uint32_t f0 = scalars.within[l.row], f1 = scalars.within[l.row + 8];
  const uint32_t* before = scalars.before[max(l.warp - 1, 0)];
  const uint32_t to = weights + swizzled(16 * l.warp + l.lane % 16, 2 * (l.lane / 16) + warpgroup);
  uint32_t m[4][2];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int column = 16 * j + 8 * warpgroup + l.column;
    m[j][0] = m[j][1] = 0;
    if (j < l.warp) {
      const uint32_t w = before[column / 2];
      m[j][0] = times(cb2.at[j][0], times(w, f0));
      m[j][1] = times(cb2.at[j][1], times(w, f1));
    } else if (j == l.warp) {
      const float2 s = *reinterpret_cast<const float2*>(&scalars.s[column]);
      const float2 dt = *reinterpret_cast<const float2*>(&scalars.dt[column]);
      const float* v = &cb[4 * j];
      const auto weight = [&](float product, float step, float from, float to_s, int gap) {
        const float w = product * (step * exp2_flushed(to_s - from));
        return gap > 0 ? w : gap == 0 ? w + skip : 0.0f;
      };
      const int gap = l.row - column;
      m[j][0] =
          packed<Factor>(weight(v[0], dt.x, s.x, s0, gap), weight(v[1], dt.y, s.y, s0, gap - 1));
      m[j][1] = packed<Factor>(weight(v[2], dt.x, s.x, s1, gap + 8),
                               weight(v[3], dt.y, s.y, s1, gap + 7));
    }
  }
#pragma unroll
  for (int j = 0; j < 4; j += 2) {
    if (j > l.warp) continue;
    const uint32_t r[4] = {m[j][0], m[j][1], m[j + 1][0], m[j + 1][1]};
    store_matrices(to ^ (32 * j), r);
  }
}

// Tokens with a NaN or an infinity in the warp's rows: the first such token of rows `row` and
// `row + 8`, kChunk where there is none. They are taken out of the operand, because their products
// with zeros would reach earlier tokens.
struct Faults {
  bool any = false;
  int first[2] = {kChunk, kChunk};
};

__device__ __forceinline__ bool not_finite(uint32_t factor) { return (factor & 0x7f80) == 0x7f80; }

__device__ __forceinline__ Faults find_faults(uint32_t (&x)[4][4], const Lane& l) {
  Faults f;
  uint32_t sum = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(sum) : "r"(x[j][i]), "r"(0));
  f.any = __any_sync(~0u, (sum & 0x7fff7fffu) != 0);
  if (!f.any) return f;
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int token = 16 * j + 8 * (i / 2) + l.column;
      if (not_finite(x[j][i])) {
        f.first[i % 2] = min(f.first[i % 2], token);
        x[j][i] &= 0xffff0000u;
      }
      if (not_finite(x[j][i] >> 16)) {
        f.first[i % 2] = min(f.first[i % 2], token + 1);
        x[j][i] &= 0xffffu;
      }
    }
#pragma unroll
  for (int i = 0; i < 2; ++i)
    for (int step = 1; step < 4; step *= 2)
      f.first[i] = min(f.first[i], __shfl_xor_sync(~0u, f.first[i], step));
  return f;
}

// A state tensor's row, or an output's, at the thread's two rows: f(register, row, state).
template <int n, class F>
__device__ __forceinline__ void for_each_pair(const Lane& l, F&& f) {
#pragma unroll
  for (int i = 0; i < n; i += 2) f(i, i / 2 % 2, i / 4 * 8 + l.column);
}

template <int n>
__device__ void store_state(const float (&state)[n], float* to, int64_t p_stride, int dstate,
                            int row_in_head, const Lane& l) {
  for_each_pair<n>(l, [&](int i, int half, int column) {
    float* at = to + (row_in_head + 8 * half) * p_stride + column;
    if (column < dstate) at[0] = state[i];
    if (column + 1 < dstate) at[1] = state[i + 1];
  });
}

template <int n>
__device__ void load_state(float (&state)[n], const float* from, int64_t p_stride, int dstate,
                           int row_in_head, const Lane& l) {
  for_each_pair<n>(l, [&](int i, int half, int column) {
    const float* at = from + (row_in_head + 8 * half) * p_stride + column;
    state[i] = column < dstate ? at[0] : 0.0f;
    state[i + 1] = column + 1 < dstate ? at[1] : 0.0f;
  });
}

}  // namespace hiss::cuda::ssd
