// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cfloat>

#include "cuda/ssd_chunk_scan/chunked_prepare.cuh"
#include "cuda/ssd_chunk_scan/chunked_times.cuh"

// What one warp of the chunk walk does: 16 rows of a head with all their states in registers.
//
// The states lie as the matrix units give results, which is also how they take right operands, so
// C S^T needs no copy of them. The same holds for delta x: as right operand of M (delta x) it lies
// as it does as left operand of (weight delta x)^T B.
namespace hiss::cuda::ssd_chunk_scan {

template <int N, int kParts>
struct Shared {
  __half c[kParts * kChunk * N], b[kParts * kChunk * N];  // swizzled
  float scores[kChunk * kChunk];  // swizzled; becomes M: eight halves, then their second parts
  Times times[2];
  int32_t exponents[8];

  __device__ const __half* c_row(int part, int row, int piece) const {
    return c + part * kChunk * N + swizzled(row, piece, N / 8) * 8;
  }
  __device__ const __half* b_row(int part, int row, int piece) const {
    return b + part * kChunk * N + swizzled(row, piece, N / 8) * 8;
  }
  __device__ const __half* m_row(int part, int row, int piece) const {
    return reinterpret_cast<const __half*>(scores) +
           swizzled(row, 2 * piece + part, kChunk / 4) * 8;
  }
};

template <int N, int kParts>
struct Warp {
  using Accumulator =
      float[4][2][4];  // [16 tokens][8 rows]: token lane / 4 (+ 8), row lane % 4 * 2

  const Shared<N, kParts>& shared;
  const int lane;
  float state[N / 8][4];  // row lane / 4 (+ 8), states 8 t + lane % 4 * 2 (+ 1)
  float x[4][2][2][2];    // delta x: [16 tokens][8 rows][8 tokens][1 token]: row lane / 4
  uint32_t weighed[4][kParts][4];
  int bad[2];  // first token of the chunk with NaN or Inf in row lane / 4 (+ 8)
  bool any_bad;

  __device__ int token(int k, int half, int e) const {
    return k * 16 + half * 8 + lane % 4 * 2 + e;
  }

  // Reads x of the chunk, scales it by delta and returns the exponent for it. NaN and Inf are noted
  // and taken out: a matrix product would spread them to earlier tokens.
  __device__ __forceinline__ int take_x(const float* tile, int stride, const Times& times) {
    float largest = 0, zero = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float2 delta = *reinterpret_cast<const float2*>(times.delta + token(k, half, 0));
#pragma unroll
        for (int e = 0; e < 2; ++e)
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            const float v =
                (e == 0 ? delta.x : delta.y) * tile[token(k, half, e) * stride + r * 8 + lane / 4];
            x[k][r][half][e] = v;
            zero = fmaf(v, 0.0f, zero);  // or NaN
            largest = fmaxf(largest, fabsf(v));
          }
      }
    any_bad = __any_sync(~0u, zero != 0.0f);
    if (any_bad) largest = take_out_bad();
    return exponent_for(warp_max(largest));
  }

  __device__ float take_out_bad() {
    float largest = 0;
    bad[0] = bad[1] = kChunk;
#pragma unroll
    for (int i = 31; i >= 0; --i) {
      const int k = i / 8, half = i / 4 % 2, e = i / 2 % 2, r = i % 2;
      float& v = x[k][r][half][e];
      if (!(fabsf(v) <= FLT_MAX)) bad[r] = token(k, half, e), v = 0;
      largest = fmaxf(largest, fabsf(v));
    }
    for (int r = 0; r < 2; ++r)
      for (int d = 1; d < 4; d *= 2) bad[r] = min(bad[r], __shfl_xor_sync(~0u, bad[r], d));
    return largest;
  }

  // weight delta x as operands, for the state after token `last`.
  __device__ __forceinline__ void weigh_x(const Times& times, int last, int x_exponent) {
    const float scale = power_of_two(x_exponent);
    const float2 lowest = times.lowest[last];
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int j = token(k, half, 0);
        const float4 sums = *reinterpret_cast<const float4*>(times.sum + j);
        float weight[2] = {scale * Times::power_of_difference(lowest, make_float2(sums.x, sums.y)),
                           scale * Times::power_of_difference(lowest, make_float2(sums.z, sums.w))};
        if (j > last) weight[0] = 0;
        if (j + 1 > last) weight[1] = 0;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          uint32_t parts[kParts];
          split<kParts>(x[k][r][half][0] * weight[0], x[k][r][half][1] * weight[1], parts);
#pragma unroll
          for (int i = 0; i < kParts; ++i) weighed[k][i][half * 2 + r] = parts[i];
        }
      }
  }

  // The state after token `last`, element by element to put(t, i, value):
  // decay * state + (weight delta x)^T B.
  template <class Put>
  __device__ __forceinline__ void advance(const Times& times, int last, int x_exponent,
                                          int b_exponent, Put&& put) {
    const float decay = exp2_exact(times.sum_at(last));
    const double lowest = times.lowest_at(last);
    const float gain =
        exp2_exact(times.sum_at(last) - lowest) * power_of_two(-x_exponent - b_exponent);
#pragma unroll
    for (int t = 0; t < N / 16; t += 2) {
      float acc[4][4] = {};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        uint32_t b[2][kParts][4];
#pragma unroll
        for (int u = 0; u < 2; ++u)
#pragma unroll
          for (int i = 0; i < kParts; ++i)
            load_tiles_transposed(b[u][i],
                                  shared.b_row(i, k * 16 + lane % 16, (t + u) * 2 + lane / 16));
        for_each_product<kParts>([&](int i, int j) {
#pragma unroll
          for (int u = 0; u < 4; ++u)
            mma(acc[u], weighed[k][i], b[u / 2][j][u % 2 * 2], b[u / 2][j][u % 2 * 2 + 1]);
        });
      }
#pragma unroll
      for (int u = 0; u < 4; ++u)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          put(2 * t + u, i, fmaf(state[2 * t + u][i], decay, acc[u][i] * gain));
    }
  }

  // acc = C S^T, in units of C's exponent and the one returned.
  __device__ int from_state(Accumulator& acc) const {
    float largest = 0;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) largest = fmaxf(largest, fabsf(state[i / 4][i % 4]));
    largest = warp_max(largest);
    if (largest > FLT_MAX) {  // a state that overflowed must not take its neighbours with it
      largest = 0;
#pragma unroll
      for (int i = 0; i < N / 2; ++i)
        largest = fmaxf(largest, finite_magnitude(state[i / 4][i % 4]));
      largest = warp_max(largest);
    }
    const int exponent = largest > 0 ? exponent_for(largest) : 120;
    const float scale = power_of_two(exponent);
#pragma unroll
    for (int k = 0; k < N / 16; ++k) {
      uint32_t b[2][2][kParts];
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          split<kParts>(state[2 * k + half][2 * r] * scale, state[2 * k + half][2 * r + 1] * scale,
                        b[r][half]);
      uint32_t a[4][kParts][4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int q = 0; q < kParts; ++q)
          load_tiles(a[i][q], shared.c_row(q, i * 16 + lane % 16, k * 2 + lane / 16));
      for_each_product<kParts>([&](int p, int q) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
          mma(acc[i / 2][i % 2], a[i / 2][p], b[i % 2][0][q], b[i % 2][1][q]);
      });
    }
    return exponent;
  }

  // acc += M (delta x), in units of M and the exponent.
  __device__ void from_chunk(Accumulator& acc, int x_exponent) const {
    const float scale = power_of_two(x_exponent);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      uint32_t b[2][2][kParts];
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          split<kParts>(x[k][r][half][0] * scale, x[k][r][half][1] * scale, b[r][half]);
      uint32_t a[4][kParts][4];
#pragma unroll
      for (int i = k; i < 4; ++i)
#pragma unroll
        for (int q = 0; q < kParts; ++q)
          load_tiles(a[i][q], shared.m_row(q, i * 16 + lane % 16, k * 2 + lane / 16));
      for_each_product<kParts>([&](int p, int q) {
#pragma unroll
        for (int i = 2 * k; i < 8; ++i)
          mma(acc[i / 2][i % 2], a[i / 2][p], b[i % 2][0][q], b[i % 2][1][q]);
      });
    }
  }

  // What the usual case does without: rows that grow, and NaN for those behind a bad token.
  __device__ void adjust(Accumulator& acc, const Times& times) const {
    if (!times.decays)
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float growth = times.growth(i * 8 + lane / 4);
#pragma unroll
        for (int e = 0; e < 4; ++e) acc[i / 2][e / 2][i % 2 * 2 + e % 2] *= growth;
      }
    if (any_bad)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int first = __shfl_sync(~0u, bad[e / 2], (lane % 4 * 2 + e % 2) * 4);
#pragma unroll
        for (int i = 0; i < 8; ++i)
          if (i * 8 + lane / 4 >= first) acc[i / 2][e / 2][i % 2 * 2 + e % 2] = NAN;
      }
  }

  // y without the gate, two rows of a token at a time to put(i, r, y): token 8 i + lane / 4, rows
  // 8 r + lane % 4 * 2. `skip`: D of the lane's rows; x is still in the tile.
  template <class Put>
  __device__ __forceinline__ void take_y(const Accumulator& acc, const int (&c_exponents)[4],
                                         int exponent, const float (&skip)[2][2], const float* tile,
                                         int stride, Put&& put) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float unit = power_of_two(-(c_exponents[i / 2] + exponent));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float2 v = *reinterpret_cast<const float2*>(tile + (i * 8 + lane / 4) * stride +
                                                          r * 8 + lane % 4 * 2);
        put(i, r,
            make_float2(fmaf(skip[r][0], v.x, acc[i / 2][r][i % 2 * 2] * unit),
                        fmaf(skip[r][1], v.y, acc[i / 2][r][i % 2 * 2 + 1] * unit)));
      }
    }
  }
};

}  // namespace hiss::cuda::ssd_chunk_scan
