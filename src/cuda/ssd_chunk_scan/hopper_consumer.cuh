// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper_producer.cuh"

// The computing warpgroups. Each owns one tile of 64 rows (row = channel of a head) for all states:
// the state is the accumulator of 64 x kN, in registers from the first token to the last.
namespace hiss::cuda::ssd {

// Named barriers; 1 and 2 are the warpgroups'.
constexpr int kConverted = 3, kConvertedByBoth = 4;

constexpr int kRowWarps = 8;  // that hold the state

// A thread's place in its warpgroup's tile: rows `row` and `row + 8`, columns 8 i + column + {0,1}.
struct Lane {
  int warp, lane, row, column;
  int tile_row;    // of the warp's first row, among the group's rows
  int head, slot;  // of the warp's rows: in the group, among the block's heads
  bool stored;     // the warp's rows exist
  int tile;        // of the warpgroup
};

__device__ inline Lane lane_of(const HopperScan& k, const Place& p, int warpgroup) {
  Lane l;
  l.warp = (threadIdx.x / 32) % 4;
  l.lane = threadIdx.x % 32;
  l.row = 16 * l.warp + l.lane / 4;
  l.column = 2 * (l.lane % 4);
  l.tile = 2 * p.block + warpgroup;
  const int rows = p.heads_per_group * k.headdim;
  l.tile_row = 64 * l.tile + 16 * l.warp;
  l.stored = l.tile_row < rows;
  l.head = min(l.tile_row, rows - 1) / k.headdim;
  l.slot = l.head - p.first_head;
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

// The first `tiles` of a stage as factors, by `threads` threads from `first` on.
template <class T, class S>
__device__ __forceinline__ void convert_tiles(char* stage, int tiles, int first, int threads) {
  if constexpr (!std::is_same_v<T, Factor>) {
    for (int i = threadIdx.x - first; i < tiles * kTile / 16; i += threads) {
      uint4& piece = reinterpret_cast<uint4*>(stage)[i];
      piece = {as_factors<T>(piece.x), as_factors<T>(piece.y), as_factors<T>(piece.z),
               as_factors<T>(piece.w)};
    }
    fence_async_proxy();
    named_barrier(threads == 128 ? kConverted : kConvertedByBoth, threads);
  }
}

// The tokens of the warp's rows as operands, 16 each.
template <class T>
__device__ __forceinline__ void load_rows(uint32_t (&x)[4][4], uint32_t tile, const Lane& l) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    load_transposed(x[j], tile + slab(l, j));
#pragma unroll
    for (int i = 0; i < 4; ++i) x[j][i] = as_factors<T>(x[j][i]);
  }
}

// Rows of B and x that belong to no token of this chunk must be finite: they meet zeros.
template <class S>
__device__ __forceinline__ void clear_rows(char* b, char* x, int length, int warpgroup) {
  const int thread = threadIdx.x % 128;
#pragma unroll 1
  for (int panel = 0; panel <= S::kPanels; ++panel) {
    char* tile = panel < S::kPanels ? b + panel * kTile : x;
#pragma unroll 1
    for (int row = length + thread / 8; row < kChunk; row += 16)
      *reinterpret_cast<uint4*>(tile + row * 128 + thread % 8 * 16) = {};
  }
  fence_async_proxy();
  named_barrier(1 + warpgroup, 128);
}

// x, each token times what is left of it at the end of the chunk.
__device__ __forceinline__ void weigh_rows(uint32_t (&weighted)[4][4], const uint32_t (&x)[4][4],
                                           const Lane& l, const Scalars& scalars) {
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      weighted[j][i] = times(x[j][i], scalars.to_end[8 * j + 4 * (i / 2) + l.column / 2]);
}

// state += weighted B, in products of at most 128 states: the compiler gives a product that needs
// more registers than a thread has at first none.
template <int n>
__device__ __forceinline__ void add_to_state(float (&state)[n], const uint32_t (&weighted)[4][4],
                                             uint32_t stage) {
  constexpr int kPart = n < 64 ? n : 64;
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int part = 0; part < n; part += kPart)
      wgmma<Factor, true>(reinterpret_cast<float(&)[kPart]>(state[part]), weighted[j],
                          further(rows_are_products(stage + part / 32 * kTile, kTile), j * 2048),
                          1);
  wgmma_commit();
}

// A decay for row `row` and one for row `row + 8`.
template <int n>
__device__ __forceinline__ void decay_state(float (&state)[n], const float (&decay)[2]) {
#pragma unroll
  for (int i = 0; i < n; ++i) state[i] *= decay[i / 2 % 2];
}

// cb = C B^T of a stage's chunk.
template <class S>
__device__ __forceinline__ void multiply_cb(float (&cb)[32], uint32_t stage) {
  const uint64_t c = rows_are_outer(stage + S::kC), b = rows_are_outer(stage);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4 * S::kPanels; ++j) {
    const uint32_t at = j / 4 * kTile + j % 4 * 32;
    wgmma<Factor, false>(cb, further(c, at), further(b, at), j > 0);
  }
  wgmma_commit();
}

// y = state C^T, in steps of as many states as there are registers for.
template <class S, int n, int kSteps>
__device__ __forceinline__ void read_state(float (&y)[32], uint32_t (&operand)[kSteps][4],
                                           const float (&state)[n], uint32_t stage) {
  const uint64_t c = rows_are_outer(stage + S::kC);
#pragma unroll
  for (int first = 0; first < 4 * S::kPanels; first += kSteps) {
    if (first > 0) {
      wgmma_wait<0>();
      pin(y);
      pin(operand);
    }
#pragma unroll
    for (int j = 0; j < kSteps; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 8 * (first + j) + 2 * i;
        operand[j][i] = packed<Factor>(state[at], state[at + 1]);
      }
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < kSteps; ++j) {
      const int step = first + j;
      wgmma<Factor, false>(y, operand[j], further(c, step / 4 * kTile + step % 4 * 32), step > 0);
    }
    wgmma_commit();
  }
}

// On the diagonal: cb dt_j exp2(s_i - s_j), and D more where i is j; nothing for j > i.
__device__ __forceinline__ float diagonal(float cb, float dt, float s_j, float s_i, int gap,
                                          float skip) {
  const float w = cb * (dt * exp2_flushed(s_i - s_j));
  return gap > 0 ? w : gap == 0 ? w + skip : 0.0f;
}

// Two elements of one row of the weights, on the diagonal.
__device__ __forceinline__ uint32_t diagonal_pair(const float* cb, const float2& dt,
                                                  const float2& s_j, float s_i, int gap,
                                                  float skip) {
  return packed<Factor>(diagonal(cb[0], dt.x, s_j.x, s_i, gap, skip),
                        diagonal(cb[1], dt.y, s_j.y, s_i, gap - 1, skip));
}

// The weights of tokens j <= i in token i, for `kCount` heads side by side. Blocks of 16 above the
// diagonal are zero from the start; below it the exponential is a product of two that are at most
// 1 when the state decays, by way of the row block's first token. All warps run the same
// instructions, however few blocks they store.
template <int kCount>
__device__ __forceinline__ void store_weights(const float (&cb)[32], uint32_t weights,
                                              const Lane& l, const Scalars* heads) {
  float on_diagonal[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float low = l.warp == 0 ? cb[i] : cb[8 + i];
    const float high = l.warp == 2 ? cb[16 + i] : cb[24 + i];
    on_diagonal[i] = l.warp < 2 ? low : high;
  }
  const int row = 16 * l.warp + l.lane % 16;
#pragma unroll
  for (int h = 0; h < kCount; ++h) {
    const Scalars& scalars = heads[h];
    const uint32_t tile = weights + h * kTile;
    const uint32_t f0 = scalars.within[l.row], f1 = scalars.within[l.row + 8];
    const uint32_t* before = scalars.before[max(l.warp - 1, 0)];
    uint32_t m[3][4];
#pragma unroll
    for (int j = 0; j < 3; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float* at = &cb[8 * j + 4 * half];
        const uint32_t w = before[8 * j + 4 * half + l.column / 2];
        m[j][2 * half] = times(packed<Factor>(at[0], at[1]), times(w, f0));
        m[j][2 * half + 1] = times(packed<Factor>(at[2], at[3]), times(w, f1));
      }
    const float s0 = scalars.s[l.row], s1 = scalars.s[l.row + 8], skip = scalars.skip;
    uint32_t d[4] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = 16 * l.warp + 8 * half + l.column, gap = l.row - column;
      const float2 s = *reinterpret_cast<const float2*>(&scalars.s[column]);
      const float2 dt = *reinterpret_cast<const float2*>(&scalars.dt[column]);
      if (half == 0) d[0] = diagonal_pair(&on_diagonal[0], dt, s, s0, gap, skip);
      d[2 * half + 1] = diagonal_pair(&on_diagonal[4 * half + 2], dt, s, s1, gap + 8, skip);
    }
#pragma unroll
    for (int j = 0; j < 3; ++j)
      if (j < l.warp) store_matrices(tile + swizzled(row, 2 * j + l.lane / 16), m[j]);
    store_matrices(tile + swizzled(row, 2 * l.warp + l.lane / 16), d);
  }
}

// For all heads of the block, kTogether side by side.
template <int kTogether>
__device__ __forceinline__ void store_all_weights(const float (&cb)[32], uint32_t weights,
                                                  const Lane& l, const Scalars* heads, int slots) {
  int slot = 0;
#pragma unroll 1
  for (; slot + kTogether <= slots; slot += kTogether)
    store_weights<kTogether>(cb, weights + slot * kTile, l, heads + slot);
  if (kTogether > 1 && slot < slots) store_weights<1>(cb, weights + slot * kTile, l, heads + slot);
}

// Whether some element of the warp's rows is NaN or infinite.
__device__ __forceinline__ bool any_fault(const uint32_t (&x)[4][4]) {
  uint32_t sum[4] = {};  // of zeros, unless there is one
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(sum[i]) : "r"(x[j][i]), "r"(0));
  return __any_sync(~0u, ((sum[0] | sum[1] | sum[2] | sum[3]) & 0x7fff7fffu) != 0);
}

// Address of an element of the warp's rows in a tile of x or y.
template <class T>
__device__ __forceinline__ T& element(char* tile, const Lane& l, int token, int row) {
  return *reinterpret_cast<T*>(tile + swizzled(token, 2 * l.warp + row / 8) + row % 8 * 2);
}

// Products with zeros would take a NaN or an infinity of x to earlier tokens. So x is cleared of
// them, from its row's first one on; returns the token of that, of the rows `row` and `row + 8`,
// kChunk where there is none.
template <class T>
__device__ __forceinline__ int2 clear_faults(char* tile, const Lane& l) {
  __syncwarp();  // other lanes have read what is written here
  int first = kChunk;
  if (l.lane < 16) {
#pragma unroll 1
    for (int token = 0; token < kChunk; ++token) {
      T& x = element<T>(tile, l, token, l.lane);
      if (first == kChunk && !isfinite(to_float(x))) first = token;
      if (first < kChunk) x = from_float<T>(0.0f);
    }
  }
  __syncwarp();
  return {__shfl_sync(~0u, first, l.lane / 4), __shfl_sync(~0u, first, l.lane / 4 + 8)};
}

// y of the tokens from a fault on.
template <class T>
__device__ __forceinline__ void store_faults(char* tile, const Lane& l, int2 first) {
  __syncwarp();
#pragma unroll 1
  for (int token = l.lane % 4; token < kChunk; token += 4) {
    if (token >= first.x) element<T>(tile, l, token, l.lane / 4) = from_float<T>(NAN);
    if (token >= first.y) element<T>(tile, l, token, l.lane / 4 + 8) = from_float<T>(NAN);
  }
}

// A state tensor's row, or an output's, at the thread's two rows: f(register, row, state).
template <int n, class F>
__device__ __forceinline__ void for_each_pair(const Lane& l, F&& f) {
#pragma unroll
  for (int i = 0; i < n; i += 2) f(i, i / 2 % 2, i / 4 * 8 + l.column);
}

// Whether rows of states can be accessed two at a time.
__device__ inline bool in_pairs(const float* rows, int64_t p_stride, int dstate) {
  return reinterpret_cast<uintptr_t>(rows) % 8 == 0 && p_stride % 2 == 0 && dstate % 2 == 0;
}

template <int n>
__device__ void store_state(const float (&state)[n], float* to, int64_t p_stride, int dstate,
                            int row_in_head, const Lane& l) {
  const bool pairs = in_pairs(to, p_stride, dstate);
  for_each_pair<n>(l, [&](int i, int half, int column) {
    float* at = to + (row_in_head + 8 * half) * p_stride + column;
    if (pairs) {
      if (column < dstate) *reinterpret_cast<float2*>(at) = {state[i], state[i + 1]};
      return;
    }
    if (column < dstate) at[0] = state[i];
    if (column + 1 < dstate) at[1] = state[i + 1];
  });
}

// put(i, registers i and i + 1 of the state).
template <int n, class Put>
__device__ __forceinline__ void load_state(const float* from, int64_t p_stride, int dstate,
                                           int row_in_head, const Lane& l, Put&& put) {
  const bool pairs = in_pairs(from, p_stride, dstate);
  for_each_pair<n>(l, [&](int i, int half, int column) {
    const float* at = from + (row_in_head + 8 * half) * p_stride + column;
    float2 v = {};
    if (pairs) {
      if (column < dstate) v = *reinterpret_cast<const float2*>(at);
    } else {
      if (column < dstate) v.x = at[0];
      if (column + 1 < dstate) v.y = at[1];
    }
    put(i, v);
  });
}

}  // namespace hiss::cuda::ssd
