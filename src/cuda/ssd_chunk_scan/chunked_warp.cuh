// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cfloat>

#include "cuda/ssd_chunk_scan/chunked_prepare.cuh"
#include "cuda/ssd_chunk_scan/chunked_times.cuh"

// What one warp of the chunk walk does. Two warps share 16 rows of a head: each has half of their
// states in registers, and makes the operands of half of the tokens.
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
  float largest[16];        // of delta x, of each warp
  int state_exponents[16];  // of each warp
  int bad[16][16];          // first token with NaN or Inf, of each warp and row

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

  Shared<N, kParts>& shared;
  float* const tile;  // of the two warps: x, and what they exchange; [token][row]
  const int stride;
  const int pair, half;
  int lane;
  float state[N / 16][4];  // row lane / 4 (+ 8), states N / 2 half + 8 t + lane % 4 * 2 (+ 1)
  float x[2][2][2][2];     // delta x: [16 tokens][8 rows][8 tokens][1 token]: row lane / 4
  int bad[2];              // first token of the chunk with NaN or Inf in row lane / 4 (+ 8)
  bool any_bad;

  // The two warps wait for each other.
  __device__ void meet() const { asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory"); }
  // The warp's tokens are those of 16-token tiles 0 and 3, or 1 and 2: as much work below the
  // diagonal.
  __device__ int tile_of(int k) const { return half == 0 ? 3 * k : 1 + k; }
  __device__ int token(int k, int h, int e) const {
    return tile_of(k) * 16 + h * 8 + lane % 4 * 2 + e;
  }

  // Reads the warp's x of the chunk, scales it by delta and publishes its largest magnitude: NaN if
  // some are not finite.
  __device__ __forceinline__ void take_x(const Times& times) {
    float largest = 0, zero = 0;
#pragma unroll
    for (int k = 0; k < 2; ++k)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float2 delta = *reinterpret_cast<const float2*>(times.delta + token(k, h, 0));
#pragma unroll
        for (int e = 0; e < 2; ++e)
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            const float v =
                (e == 0 ? delta.x : delta.y) * tile[token(k, h, e) * stride + r * 8 + lane / 4];
            x[k][r][h][e] = v;
            zero = fmaf(v, 0.0f, zero);  // or NaN
            largest = fmaxf(largest, fabsf(v));
          }
      }
    largest = warp_max(largest);
    if (__any_sync(~0u, zero != 0.0f)) largest = NAN;
    if (lane == 0) shared.largest[pair * 2 + half] = largest;
  }

  // The exponent for x of both warps, once both have taken it. NaN and Inf are noted and taken out:
  // a matrix product would spread them to earlier tokens.
  __device__ int settle_x() {
    float largest = fmaxf(shared.largest[pair * 2], shared.largest[pair * 2 + 1]);
    const float both = shared.largest[pair * 2] + shared.largest[pair * 2 + 1];
    any_bad = both != both;
    if (any_bad) {
      const float own = take_out_bad();
      meet();
      if (lane == 0) shared.largest[pair * 2 + half] = own;
      if (lane % 4 == 0)
        for (int r = 0; r < 2; ++r) shared.bad[pair * 2 + half][r * 8 + lane / 4] = bad[r];
      meet();
      largest = fmaxf(shared.largest[pair * 2], shared.largest[pair * 2 + 1]);
      for (int r = 0; r < 2; ++r)
        bad[r] =
            min(shared.bad[pair * 2][r * 8 + lane / 4], shared.bad[pair * 2 + 1][r * 8 + lane / 4]);
    }
    return exponent_for(largest);
  }

  __device__ float take_out_bad() {
    float largest = 0;
    bad[0] = bad[1] = kChunk;
#pragma unroll
    for (int i = 15; i >= 0; --i) {
      const int k = i / 8, h = i / 4 % 2, e = i / 2 % 2, r = i % 2;
      float& v = x[k][r][h][e];
      if (!(fabsf(v) <= FLT_MAX)) bad[r] = token(k, h, e), v = 0;
      largest = fmaxf(largest, fabsf(v));
    }
    for (int r = 0; r < 2; ++r)
      for (int d = 1; d < 4; d *= 2) bad[r] = min(bad[r], __shfl_xor_sync(~0u, bad[r], d));
    return warp_max(largest);
  }

  // weight delta x of both warps as operands, for the state after token `last`, through the tile.
  __device__ __forceinline__ void weigh_x(const Times& times, int last, int x_exponent) {
    const float scale = power_of_two(x_exponent);
    const float2 lowest = times.lowest[last];
    meet();  // nobody uses the tile any more
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      uint32_t parts[4][kParts];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int j = token(k, h, 0);
        const float4 sums = *reinterpret_cast<const float4*>(times.sum + j);
        float weight[2] = {scale * Times::power_of_difference(lowest, make_float2(sums.x, sums.y)),
                           scale * Times::power_of_difference(lowest, make_float2(sums.z, sums.w))};
        if (j > last) weight[0] = 0;
        if (j + 1 > last) weight[1] = 0;
#pragma unroll
        for (int r = 0; r < 2; ++r)
          split<kParts>(x[k][r][h][0] * weight[0], x[k][r][h][1] * weight[1], parts[h * 2 + r]);
      }
#pragma unroll
      for (int i = 0; i < kParts; ++i)
        *operand(tile_of(k), i) = make_uint4(parts[0][i], parts[1][i], parts[2][i], parts[3][i]);
    }
    meet();
  }
  __device__ uint4* operand(int k, int part) const {
    const int row = (k * kParts + part) * 8 + lane / 4;
    return reinterpret_cast<uint4*>(tile + row * stride + lane % 4 * 4);
  }

  // The state after token `last`, element by element to put(t, i, value):
  // decay * state + (weight delta x)^T B.
  template <class Put>
  __device__ __forceinline__ void advance(const Times& times, int last, int x_exponent,
                                          int b_exponent, Put&& put) {
    const float decay = exp2_exact(times.sum_at(last));
    const float growth =
        times.decays ? 1.0f : exp2_exact(times.sum_at(last) - times.lowest_at(last));
    const float gain = growth * power_of_two(-x_exponent - b_exponent);
    float acc[N / 16][4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      uint32_t a[kParts][4];
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        const uint4 v = *operand(k, i);
        a[i][0] = v.x, a[i][1] = v.y, a[i][2] = v.z, a[i][3] = v.w;
      }
#pragma unroll
      for (int t = 0; t < N / 32; ++t) {
        uint32_t b[kParts][4];
#pragma unroll
        for (int i = 0; i < kParts; ++i)
          load_tiles_transposed(
              b[i], shared.b_row(i, k * 16 + lane % 16, half * (N / 16) + t * 2 + lane / 16));
        for_each_product<kParts>([&](int i, int j) {
#pragma unroll
          for (int u = 0; u < 2; ++u) mma(acc[2 * t + u], a[i], b[j][2 * u], b[j][2 * u + 1]);
        });
      }
    }
#pragma unroll
    for (int i = 0; i < N / 4; ++i)
      put(i / 4, i % 4, fmaf(state[i / 4][i % 4], decay, acc[i / 4][i % 4] * gain));
  }

  // acc = C S^T of the warp's states, in units of C's exponent and the one returned.
  __device__ int from_state(Accumulator& acc) const {
    float largest = 0;
#pragma unroll
    for (int i = 0; i < N / 4; ++i) largest = fmaxf(largest, fabsf(state[i / 4][i % 4]));
    largest = warp_max(largest);
    if (largest > FLT_MAX) {  // a state that overflowed must not take its neighbours with it
      largest = 0;
#pragma unroll
      for (int i = 0; i < N / 4; ++i)
        largest = fmaxf(largest, finite_magnitude(state[i / 4][i % 4]));
      largest = warp_max(largest);
    }
    const int exponent = largest > 0 ? exponent_for(largest) : 120;
    const float scale = power_of_two(exponent);
#pragma unroll
    for (int k = 0; k < N / 32; ++k) {
      uint32_t b[2][2][kParts];
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int h = 0; h < 2; ++h)
          split<kParts>(state[2 * k + h][2 * r] * scale, state[2 * k + h][2 * r + 1] * scale,
                        b[r][h]);
#pragma unroll
      for (int i0 = 0; i0 < 4; i0 += 2) {
        uint32_t a[2][kParts][4];
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int q = 0; q < kParts; ++q)
            load_tiles(a[i][q], shared.c_row(q, (i0 + i) * 16 + lane % 16,
                                             half * (N / 16) + k * 2 + lane / 16));
        for_each_product<kParts>([&](int p, int q) {
#pragma unroll
          for (int i = 0; i < 4; ++i)
            mma(acc[i0 + i / 2][i % 2], a[i / 2][p], b[i % 2][0][q], b[i % 2][1][q]);
        });
      }
    }
    return exponent;
  }

  // acc += M (delta x) of the warp's tokens, in units of M and the exponent.
  __device__ void from_chunk(Accumulator& acc, int x_exponent) const {
    const float scale = power_of_two(x_exponent);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      uint32_t b[2][2][kParts];
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int h = 0; h < 2; ++h)
          split<kParts>(x[k][r][h][0] * scale, x[k][r][h][1] * scale, b[r][h]);
#pragma unroll
      for (int i = k; i < 4; ++i) {  // tile_of(k) is at least k
        if (i < tile_of(k)) continue;
        uint32_t a[kParts][4];
#pragma unroll
        for (int q = 0; q < kParts; ++q)
          load_tiles(a[q], shared.m_row(q, i * 16 + lane % 16, tile_of(k) * 2 + lane / 16));
        for_each_product<kParts>([&](int p, int q) {
#pragma unroll
          for (int r = 0; r < 2; ++r) mma(acc[i][r], a[p], b[r][0][q], b[r][1][q]);
        });
      }
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

  // Adds up what the two warps have, and y without the gate to put(i, r, y), two rows of a token at
  // a time: token 32 half + 8 i + lane / 4, rows 8 r + lane % 4 * 2. `skip`: D of the lane's rows;
  // `exponents`: of C in the warp's half of the tokens.
  template <class Put>
  __device__ __forceinline__ void take_y(const Accumulator& acc, const int (&exponents)[2],
                                         int exponent, const float (&skip)[2][2], Put&& put) const {
    const auto place = [&](int which, int i, int r) -> float2& {
      const int j = which * 32 + i * 8 + lane / 4;
      return *reinterpret_cast<float2*>(tile + j * stride + r * 8 + lane % 4 * 2);
    };
    float2 y[4][2];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float2 v = place(half, i / 2, i % 2);
      y[i / 2][i % 2] = make_float2(skip[i % 2][0] * v.x, skip[i % 2][1] * v.y);
    }
    meet();  // x is not needed any more
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float(&low)[4] = acc[i / 4][i % 2], (&high)[4] = acc[2 + i / 4][i % 2];
      const int e = i / 2 % 2 * 2;
      place(1 - half, i / 2, i % 2) =
          make_float2(half == 0 ? high[e] : low[e], half == 0 ? high[e + 1] : low[e + 1]);
    }
    meet();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float(&low)[4] = acc[i / 4][i % 2], (&high)[4] = acc[2 + i / 4][i % 2];
      const int e = i / 2 % 2 * 2;
      const float unit = power_of_two(-(exponents[i / 4] + exponent));
      const float2 other = place(half, i / 2, i % 2), skipped = y[i / 2][i % 2];
      const float2 own =
          make_float2(half == 0 ? low[e] : high[e], half == 0 ? low[e + 1] : high[e + 1]);
      put(i / 2, i % 2,
          make_float2(fmaf(own.x + other.x, unit, skipped.x),
                      fmaf(own.y + other.y, unit, skipped.y)));
    }
  }
};

}  // namespace hiss::cuda::ssd_chunk_scan
