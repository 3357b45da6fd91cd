// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// exp, softplus and SiLU for the kernels: a few units of float, NaN and Inf as the formulas give
// them.
namespace hiss::cuda {

inline constexpr float kLog2E = 1.44269504088896340736f;
inline constexpr float kLn2 = 0.693147180559945309417f;

// 2^v by the special-function unit, within three units; subnormal results are kept.
__device__ __forceinline__ float exp2_fast(float v) {
  float result;
  asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
}

// e^v with the rounding of v log2(e) put back in: four units anywhere, not |v| of them.
__device__ __forceinline__ float exp_accurate(float v) {
  const float t = v * kLog2E;
  const float rest = __fmaf_rn(v, kLog2E, -t) + v * 1.925963033500011e-8f;  // low half of log2(e)
  const float scale = exp2_fast(t);
  // Inf and 0 have no rest; t of NaN is NaN.
  return fabsf(v) < 100.0f ? __fmaf_rn(scale * kLn2, rest, scale) : scale;
}

// v / (1 + e^-v). The quotient of v = -Inf is NaN, as the formula's. Beside the 1, a power that is
// flushed to zero is nothing.
__device__ __forceinline__ float silu(float v) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(-kLog2E * v));
  return __fdividef(v, 1.0f + power);
}

// log(1 + e^v), v above 20. For e = e^v: log(1 + e) = log(s) + (e - (s - 1)) / s with s = 1 + e
// rounded, so the part of e that the sum drops is not lost and small results keep their digits.
__device__ __forceinline__ float softplus(float v) {
  const float e = exp_accurate(v);
  const float s = 1.0f + e;
  const float log_s = logf(s);
  const float result = log_s + __fdividef(e - (s - 1.0f), s);
  return v > 20.0f ? v : result;
}

}  // namespace hiss::cuda
