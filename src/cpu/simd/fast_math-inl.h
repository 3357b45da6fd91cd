// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Softplus and SiLU for Precision::kFast: an error of 5e-4 relative, an eighth of what rounding an
// operand to bf16 may do, without divisions and with half of the multiplications.

#if defined(HISS_CPU_SIMD_FAST_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SIMD_FAST_MATH_INL_H
#undef HISS_CPU_SIMD_FAST_MATH_INL_H
#else
#define HISS_CPU_SIMD_FAST_MATH_INL_H
#endif

#include "cpu/simd/decay-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {

// exp(-|x|), flushed below 2^-126.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fast_exp_of_minus_abs(D d, V x) {
  const V rate = hn::Set(d, 1.44269504f * kSteps);
  return decay<DecayRange::kNoGrowth, /*kFast=*/true>(d, hn::Neg(hn::Abs(x)), rate);
}

// log(1 + exp(x)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fast_softplus(D d, V x) {
  const V e = fast_exp_of_minus_abs(d, x);
  // log(1 + e) = e p(e), p of degree 5: 8.4e-6.
  V p = hn::MulAdd(hn::Set(d, -0.023869102f), e, hn::Set(d, 0.101222185f));
  p = hn::MulAdd(p, e, hn::Set(d, -0.210048628f));
  p = hn::MulAdd(p, e, hn::Set(d, 0.325206672f));
  p = hn::MulAdd(p, e, hn::Set(d, -0.499361368f));
  p = hn::MulAdd(p, e, hn::Set(d, 0.999991599f));
  return hn::MulAdd(p, e, at_least(hn::Zero(d), x));
}

// x / (1 + exp(-x)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fast_silu(D d, V x) {
  const V e = fast_exp_of_minus_abs(d, x);
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, e), x);
  const V denominator = hn::Add(e, hn::Set(d, 1.0f));
  V reciprocal = hn::ApproximateReciprocal(denominator);
#if HWY_TARGET == HWY_NEON
  // Eight bits, where x86 gives eleven or more: a step of Newton's.
  reciprocal = hn::Mul(reciprocal, V{vrecpsq_f32(denominator.raw, reciprocal.raw)});
#endif
  return hn::Mul(numerator, reciprocal);
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SIMD_FAST_MATH_INL_H
