// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/chunked_plan.cuh"

// Step sizes and decays of the tokens of a chunk, for one head.
//
// The decay from token j to token i is 2^(sum[i] - sum[j]). Sums are made in double and kept as two
// floats, since only differences of them are used. A product of a row factor and weights of columns
// must not overflow, whatever the signs: with lowest[i] = min(0, sum[0 ... i]) both
// 2^(lowest[i] - sum[j]) for j <= i and 2^lowest[i], the weight of the state before the chunk, are
// at most 1, and the row is multiplied by 2^(sum[i] - lowest[i]) at the end. While the state decays
// lowest is sum and that factor 1.
namespace hiss::cuda::ssd_chunk_scan {

struct alignas(16) Times {
  float2 sum[kChunk], lowest[kChunk];
  float delta[kChunk];
  bool decays;  // nothing grows: lowest is sum, and the factor of rows 1

  // 2^(lowest[i] - sum[j])
  __device__ float weight(int i, int j) const { return power_of_difference(lowest[i], sum[j]); }
  // 2^(sum[i] - lowest[i])
  __device__ float growth(int i) const { return power_of_difference(sum[i], lowest[i]); }
  __device__ double sum_at(int i) const { return double{sum[i].x} + sum[i].y; }
  __device__ double lowest_at(int i) const { return double{lowest[i].x} + lowest[i].y; }

  __device__ static float power_of_difference(float2 a, float2 b) {
    return exp2_fast(a.x - b.x + (a.y - b.y));
  }
};

// 2^v to half a unit, for factors of the state: what is wrong with them is remembered for thousands
// of tokens.
__device__ inline float exp2_exact(double v) {
  if (v < -150.0) return 0.0f;
  const double whole = rint(v);
  const float rest = static_cast<float>((v - whole) * 0.6931471805599453);
  return (1.0f + expm1f(rest)) * exp2_fast(static_cast<float>(whole));
}

__device__ __forceinline__ float2 two_floats(double v) {
  const auto high = static_cast<float>(v);
  return make_float2(high, static_cast<float>(v - high));
}

// dt of a lane's tokens of a chunk, with its bias, on its way.
struct Steps {
  static constexpr int kPer = kChunk / 32;
  float dt[kPer];
};

// By one warp: `count` tokens from t0 on.
__device__ inline Steps read_steps(const Scan& scan, int64_t row, int64_t t0, int count, int h) {
  Steps steps = {};
  const float bias = of_head(scan.dt_bias, h);
#pragma unroll
  for (int i = 0; i < Steps::kPer; ++i) {
    const int j = threadIdx.x % 32 * Steps::kPer + i;
    const int64_t at =
        row * scan.dt.stride[0] + (t0 + j) * scan.dt.stride[1] + h * scan.dt.stride[2];
    if (j < count) steps.dt[i] = load(scan.dt.data, scan.dt.dtype, at) + bias;
  }
  return steps;
}

// By one warp: `count` tokens, the rest of the chunk as tokens of step zero.
__device__ inline void make_times(const Scan& scan, double rate, const Steps& steps, int count,
                                  Times& out) {
  constexpr int kPer = Steps::kPer;
  const int lane = threadIdx.x % 32;
  double sum[kPer], lowest[kPer];
  bool decays = true;
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const int j = lane * kPer + i;
    const float delta = j < count ? step_size(scan, steps.dt[i]) : 0.0f;
    out.delta[j] = delta;
    sum[i] = delta * rate;
    decays = decays && sum[i] <= 0;
    if (i > 0) sum[i] += sum[i - 1];
  }
  decays = __all_sync(~0u, decays);
  double before = sum[kPer - 1];
  for (int d = 1; d < 32; d *= 2) {
    const double other = __shfl_up_sync(~0u, before, d);
    if (lane >= d) before += other;
  }
  before = __shfl_up_sync(~0u, before, 1);
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    if (lane > 0) sum[i] += before;
    lowest[i] = decays ? sum[i] : fmin(sum[i], i > 0 ? lowest[i - 1] : 0.0);
  }
  if (!decays) {
    double least = lowest[kPer - 1];
    for (int d = 1; d < 32; d *= 2) least = fmin(least, __shfl_up_sync(~0u, least, d));
    least = __shfl_up_sync(~0u, least, 1);
    for (int i = 0; i < kPer && lane > 0; ++i) lowest[i] = fmin(lowest[i], least);
  }
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const int j = lane * kPer + i;
    out.sum[j] = two_floats(sum[i]);
    out.lowest[j] = two_floats(lowest[i]);
  }
  if (lane == 0) out.decays = decays;
}

}  // namespace hiss::cuda::ssd_chunk_scan
