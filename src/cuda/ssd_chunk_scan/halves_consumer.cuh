// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cfloat>

#include "cuda/ssd_chunk_scan/halves_producer.cuh"
#include "cuda/ssd_chunk_scan/hopper_walk.cuh"

// The computing warpgroups. Each owns a tile of 64 rows (row = channel of a head) for all states,
// in registers from the first token to the last. With C, B, x and the state as pairs of halves and
// exponents that take their scales out again (src/cuda/tile/mma.cuh):
//
//   y^T = growth ((state C^T) 2^lowest + (delta x)^T W^T) + D x
//   state = state decay + (delta x weight)^T B
namespace hiss::cuda::ssd {

// What a computing thread knows besides its registers of data.
template <class S>
struct HalvesBench {
  const HopperScan& k;
  const Place& p;
  const Chain& chain;
  const HalvesMemory<S>& m;
  const Lane& l;
  int warpgroup;
  int64_t head;     // of its rows, among all heads
  int row_in_head;  // of its first row
  __device__ float* exchange(int rank) const { return exchange_of<S>(k, p, warpgroup, rank); }
};

// The largest of some magnitudes, over the warp: as ints, whose order is the same.
__device__ __forceinline__ float largest_of_warp(float v) {
  return __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(v)));
}

// The warp's rows of a chunk times delta. first[r]: the first token with NaN or Inf in row `row` +
// 8 r, whose elements from there on are cleared: products with zeros would take them to earlier
// tokens.
struct ScaledRows {
  float v[4][8];  // of 16 tokens each, in an operand's order
  int first[2];
  bool faults;
  int exponent;

  // Token of element e of step j.
  __device__ static int token(int j, int e, const Lane& l) {
    return 16 * j + 8 * (e / 4) + l.column + e % 2;
  }
  __device__ static int row(int e, const Lane& l) { return l.row + 8 * (e / 2 % 2); }

  __device__ __forceinline__ void read(const char* tile, const HeadChunk& own, int length,
                                       const Lane& l) {
    if (length == kChunk) [[likely]]
      read<false>(tile, own, length, l);
    else
      read<true>(tile, own, length, l);
  }
  // kCut: what lies behind `length` are other tokens.
  template <bool kCut>
  __device__ __forceinline__ void read(const char* tile, const HeadChunk& own, int length,
                                       const Lane& l) {
    float largest = 0, zero = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const int t = token(j, e, l);
        const float x = *reinterpret_cast<const float*>(tile + row_offset(t, row(e, l)));
        v[j][e] = !kCut || t < length ? own.times.delta[t] * x : 0.0f;
        zero = fmaf(v[j][e], 0.0f, zero);  // or NaN
        largest = fmaxf(largest, fabsf(v[j][e]));
      }
    faults = __any_sync(~0u, zero != 0.0f);
    if (faults) [[unlikely]]
      largest = clear_faults(l);
    exponent = exponent_for(largest_of_warp(largest));
  }
  __device__ __forceinline__ float clear_faults(const Lane& l) {
    float largest = 0;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      first[r] = kChunk;
#pragma unroll
      for (int i = 15; i >= 0; --i) {
        const int j = i / 4, e = i / 2 % 2 * 4 + i % 2 + 2 * r;
        if (!(fabsf(v[j][e]) <= FLT_MAX)) first[r] = token(j, e, l);
      }
      for (int d = 1; d < 4; d *= 2) first[r] = min(first[r], __shfl_xor_sync(~0u, first[r], d));
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const int j = i / 4, e = i / 2 % 2 * 4 + i % 2 + 2 * r;
        if (token(j, e, l) >= first[r]) v[j][e] = 0;
        largest = fmaxf(largest, fabsf(v[j][e]));
      }
    }
    return largest;
  }

  // As operands, times `scale` and, with kWeighed, what is left at the end of the chunk.
  template <bool kWeighed>
  __device__ __forceinline__ void split_to(uint32_t (&high)[4][4], uint32_t (&low)[4][4],
                                           float scale, const HeadChunk& own, const Lane& l) const {
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float2 weight = {scale, scale};
        if constexpr (kWeighed) {
          const int t = token(j, 4 * (i / 2), l);
          const float2 left = *reinterpret_cast<const float2*>(&own.to_end[t]);
          weight.x *= left.x, weight.y *= left.y;
        }
        const int e = 4 * (i / 2) + 2 * (i % 2);
        uint32_t two[2];
        split<2>(v[j][e] * weight.x, v[j][e + 1] * weight.y, two);
        high[j][i] = two[0], low[j][i] = two[1];
      }
  }
};

// y = state C^T in units of C's exponents and of the one returned.
template <class S, int n>
__device__ __forceinline__ int start_y(float (&y)[32], uint32_t (&high)[4 * S::kPanels][4],
                                       uint32_t (&low)[4 * S::kPanels][4], const float (&state)[n],
                                       uint32_t operand) {
  float largest = 0;
#pragma unroll
  for (int i = 0; i < n; ++i) largest = fmaxf(largest, fabsf(state[i]));
  largest = largest_of_warp(largest);
  if (!(largest <= FLT_MAX)) [[unlikely]] {  // what overflowed must not take its neighbours with it
    largest = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) largest = fmaxf(largest, finite_magnitude(state[i]));
    largest = largest_of_warp(largest);
  }
  const int exponent = largest > 0 ? exponent_for(largest) : 120;
  const float scale = power_of_two(exponent);
  const uint64_t c = rows_are_outer(operand);
#pragma unroll
  for (int j = 0; j < 4 * S::kPanels; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      uint32_t two[2];
      split<2>(state[8 * j + 2 * i] * scale, state[8 * j + 2 * i + 1] * scale, two);
      high[j][i] = two[0], low[j][i] = two[1];
    }
  wgmma_fence();
#pragma unroll
  for (int part = 0; part < 3; ++part)  // the small products first
#pragma unroll
    for (int j = 0; j < 4 * S::kPanels; ++j) {
      const uint32_t at = j / 4 * kTile + j % 4 * 32 + (part == 1 ? S::kPart : 0);
      if (part == 0)
        wgmma<__half, false>(y, low[j], further(c, at), j > 0);
      else
        wgmma<__half, false>(y, high[j], further(c, at), 1);
    }
  wgmma_commit();
  return exponent;
}

// y += x^T weights^T for the head of the tile.
__device__ __forceinline__ void add_halves(float (&y)[32], const uint32_t (&high)[4][4],
                                           const uint32_t (&low)[4][4], uint32_t weights) {
  const uint64_t w = rows_are_outer(weights);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4; ++j) wgmma<__half, false>(y, low[j], further(w, 32 * j), 1);
#pragma unroll
  for (int j = 0; j < 4; ++j) wgmma<__half, false>(y, high[j], further(w, kTile + 32 * j), 1);
#pragma unroll
  for (int j = 0; j < 4; ++j) wgmma<__half, false>(y, high[j], further(w, 32 * j), 1);
  wgmma_commit();
}

// The same by each warp for its own head, where heads meet in the tile.
__device__ __forceinline__ void add_halves_by_warp(float (&y)[32], const uint32_t (&high)[4][4],
                                                   const uint32_t (&low)[4][4], uint32_t weights,
                                                   const Lane& l) {
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 2 * j; i < 8; i += 2) {  // tokens 8 i ... 8 i + 15 see tokens 16 j ...
      const uint32_t at =
          weights + swizzled(8 * i + l.lane % 8 + (l.lane & 16) / 2, 2 * j + (l.lane & 8) / 8);
      uint32_t wide[4], rest[4];
      load_matrices(wide, at);
      load_matrices(rest, at + kTile);
      auto& first = *reinterpret_cast<float(*)[4]>(&y[4 * i]);
      auto& second = *reinterpret_cast<float(*)[4]>(&y[4 * i + 4]);
      mma(first, low[j], wide[0], wide[1]), mma(second, low[j], wide[2], wide[3]);
      mma(first, high[j], rest[0], rest[1]), mma(second, high[j], rest[2], rest[3]);
      mma(first, high[j], wide[0], wide[1]), mma(second, high[j], wide[2], wide[3]);
    }
}

// 64 states of the chunk's own: sum = (delta x weight)^T B.
template <class S>
__device__ __forceinline__ void start_sum(float (&sum)[32], const uint32_t (&high)[4][4],
                                          const uint32_t (&low)[4][4], uint32_t operand,
                                          int panel) {
  const uint64_t b = rows_are_products(operand + panel * kTile, kTile);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4; ++j) wgmma<__half, true>(sum, low[j], further(b, j * 2048), j > 0);
#pragma unroll
  for (int j = 0; j < 4; ++j) wgmma<__half, true>(sum, high[j], further(b, S::kPart + j * 2048), 1);
#pragma unroll
  for (int j = 0; j < 4; ++j) wgmma<__half, true>(sum, high[j], further(b, j * 2048), 1);
  wgmma_commit();
}

template <int n>
__device__ __forceinline__ void take_sum(float (&state)[n], const float (&sum)[32], int panel,
                                         float decay, float gain) {
#pragma unroll
  for (int i = 0; i < 32; ++i)
    state[32 * panel + i] = fmaf(state[32 * panel + i], decay, sum[i] * gain);
}

// A row that has met NaN or Inf.
template <int n>
__device__ __forceinline__ void spoil(float (&state)[n], const ScaledRows& x) {
#pragma unroll
  for (int i = 0; i < n; ++i)
    if (x.first[i / 2 % 2] < kChunk) state[i] = NAN;
}

}  // namespace hiss::cuda::ssd
