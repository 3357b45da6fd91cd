// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/mma_plan.cuh"

// Step sizes and decays of the tokens of a chunk, for one head.
//
// The decay from token j to token i is 2^(sum[i] - sum[j]). Sums are made in double and kept as two
// floats, since only differences of them are used. A product of a row factor and weights of columns
// must not overflow, whatever the signs: with lowest[i] = min(0, sum[0 ... i]) both
// 2^(lowest[i] - sum[j]) for j <= i and 2^lowest[i], the weight of the state before the chunk, are
// at most 1, and the row is multiplied by 2^(sum[i] - lowest[i]) at the end. While the state decays
// lowest is sum and that factor 1.
namespace hiss::cuda::ssd_chunk_scan {

struct Times {
  float sum[2][kChunk];
  float lowest[2][kChunk];
  float delta[kChunk];

  // 2^(lowest[i] - sum[j])
  __device__ float weight(int i, int j) const {
    return exp2_fast(lowest[0][i] - sum[0][j] + (lowest[1][i] - sum[1][j]));
  }
  // 2^(sum[i] - lowest[i])
  __device__ float growth(int i) const {
    return exp2_fast(sum[0][i] - lowest[0][i] + (sum[1][i] - lowest[1][i]));
  }
  __device__ double sum_at(int i) const { return double{sum[0][i]} + sum[1][i]; }
};

// 2^v to half a unit, for factors of the state: what is wrong with them is remembered for thousands
// of tokens.
__device__ inline float exp2_exact(double v) {
  if (v < -150.0) return 0.0f;
  const double whole = rint(v);
  const float rest = static_cast<float>((v - whole) * 0.6931471805599453);
  return (1.0f + expm1f(rest)) * exp2_fast(static_cast<float>(whole));
}

// By one warp: `count` tokens from t0 on, the rest of the chunk as tokens of step zero.
__device__ inline void make_times(const Scan& scan, double rate, int64_t row, int64_t t0, int count,
                                  int h, Times& out) {
  constexpr int kPer = kChunk / 32;
  const int lane = threadIdx.x % 32;
  const float bias = of_head(scan.dt_bias, h);
  double sum[kPer], lowest[kPer];
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const int j = lane * kPer + i;
    const int64_t at = row * scan.dt.stride[0] + (t0 + j) * scan.dt.stride[1] + h * scan.dt.stride[2];
    const float delta =
        j < count ? step_size(scan, load(scan.dt.data, scan.dt.dtype, at) + bias) : 0.0f;
    out.delta[j] = delta;
    sum[i] = delta * rate + (i > 0 ? sum[i - 1] : 0.0);
  }
  double before = sum[kPer - 1];
  for (int d = 1; d < 32; d *= 2) {
    const double other = __shfl_up_sync(~0u, before, d);
    if (lane >= d) before += other;
  }
  before = __shfl_up_sync(~0u, before, 1);
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    if (lane > 0) sum[i] += before;
    lowest[i] = fmin(sum[i], i > 0 ? lowest[i - 1] : 0.0);
  }
  double least = lowest[kPer - 1];
  for (int d = 1; d < 32; d *= 2) least = fmin(least, __shfl_up_sync(~0u, least, d));
  least = __shfl_up_sync(~0u, least, 1);
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const int j = lane * kPer + i;
    if (lane > 0) lowest[i] = fmin(lowest[i], least);
    out.sum[0][j] = static_cast<float>(sum[i]);
    out.sum[1][j] = static_cast<float>(sum[i] - out.sum[0][j]);
    out.lowest[0][j] = static_cast<float>(lowest[i]);
    out.lowest[1][j] = static_cast<float>(lowest[i] - out.lowest[0][j]);
  }
}

}  // namespace hiss::cuda::ssd_chunk_scan
