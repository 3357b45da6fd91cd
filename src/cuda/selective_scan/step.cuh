// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/tile/math.cuh"

// The scalar functions of a token, priced for the special-function unit: two results each, where
// the scan itself takes dstate of them.
namespace hiss::cuda::selective_scan {

// 2^v, subnormal results as zero: a decay or a step that small changes no F32 sum.
__device__ __forceinline__ float exp2_flushed(float v) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
}
__device__ __forceinline__ float reciprocal(float v) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
}
// NaN stays NaN, where fmaxf and fminf take the other operand.
__device__ __forceinline__ float max_or_nan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ float min_or_nan(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

// log(1 + e^v) = max(v, 0) + log(1 + e), e = e^-|v|, with a polynomial of degree 8 for log(1 + e) /
// e: 3e-8, and one special function less than a quotient takes. Above 20 it is v to the last bit.
__device__ __forceinline__ float softplus_fast(float v) {
  const float m = max_or_nan(-fabsf(v), -126.0f);
  const float t = m * kLog2E;
  const float rest = __fmaf_rn(m, kLog2E, -t);  // of the product
  float e = exp2_flushed(t);
  e = __fmaf_rn(e * kLn2, rest, e);
  float q = __fmaf_rn(e, 0.005232685711234808f, -0.029505206272006035f);
  q = __fmaf_rn(q, e, 0.07822589576244354f);
  q = __fmaf_rn(q, e, -0.13663241267204285f);
  q = __fmaf_rn(q, e, 0.19106005132198334f);
  q = __fmaf_rn(q, e, -0.2484298199415207f);
  q = __fmaf_rn(q, e, 0.3331909775733948f);
  q = __fmaf_rn(q, e, -0.4999949336051941f);
  q = __fmaf_rn(q, e, 0.9999999403953552f);
  return __fmaf_rn(e, q, max_or_nan(v, 0.0f));
}

__device__ __forceinline__ float silu_fast(float v) {
  return v * reciprocal(1.0f + exp2_flushed(-kLog2E * v));
}

}  // namespace hiss::cuda::selective_scan
