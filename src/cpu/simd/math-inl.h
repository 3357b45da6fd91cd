// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Vector exp, softplus, sigmoid and SiLU of F32, compiled once per instruction set. Errors are in
// tests/cpu/math_test.cc, derivations in docs/kernels/simd_math.md. NaN stays NaN everywhere.

#if defined(HISS_CPU_SIMD_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SIMD_MATH_INL_H
#undef HISS_CPU_SIMD_MATH_INL_H
#else
#define HISS_CPU_SIMD_MATH_INL_H
#endif

#include "cpu/simd/isa-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Added to and taken from a number below 2^22 in magnitude, this rounds it to an integer, which is
// then also in the low bits of the sum.
inline constexpr float kRoundingShift = 12582912.0f;  // 1.5 * 2^23

// p * 2^k for an integer k (as float and as int) in [-252, 254]: rounded once, so that results
// below the normal range are right.
template <class D, class V = hn::Vec<D>, class VI = hn::Vec<hn::RebindToSigned<D>>>
HWY_INLINE V scale_by_power_of_2(D d, V p, V k, VI k_int) {
#if HWY_TARGET == HWY_AVX3
  (void)d, (void)k_int;
  return V{_mm512_scalef_ps(p.raw, k.raw)};
#else
  (void)k;
  const hn::RebindToSigned<D> di;
  const VI first = hn::ShiftRight<1>(k_int);
  const VI bias = hn::Set(di, 127);
  const V scale1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(first, bias)));
  const V scale2 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(k_int, first), bias)));
  return hn::Mul(hn::Mul(p, scale1), scale2);
#endif
}

// exp(x). Underflows gradually to 0, overflows to Inf.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  // Beyond these the result is 0 or Inf. As second operand a NaN passes.
  const V c = hn::Min(hn::Set(d, 89.0f), hn::Max(hn::Set(d, -104.5f), x));
  // c = k ln(2) + r, |r| <= ln(2)/2. k times the first part of ln(2) is exact.
  const V shift = hn::Set(d, kRoundingShift);
  const V t = hn::MulAdd(c, hn::Set(d, 1.44269504f), shift);
  const V k = hn::Sub(t, shift);
  V r = hn::NegMulAdd(k, hn::Set(d, 0.693145752f), c);
  r = hn::NegMulAdd(k, hn::Set(d, 1.42860677e-6f), r);
  // exp(r) = 1 + (r + r^2 q(r)), q of degree 4: 3.1e-9.
  V q = hn::MulAdd(hn::Set(d, 0.0013814539987706206f), r, hn::Set(d, 0.008368745116414533f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.04166839078738762f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.16666520398961782f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.4999999343211045f));
  const V p = hn::Add(hn::MulAdd(hn::Mul(q, r), r, r), hn::Set(d, 1.0f));
  return scale_by_power_of_2(d, p, k, hn::Sub(hn::BitCast(di, t), hn::BitCast(di, shift)));
}

// log(1 + e) for e in [0, 1], as 2 atanh(s) with s = e / (2 + e) <= 1/3.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_of_unit(D d, V e) {
  const V s = hn::Div(e, hn::Add(e, hn::Set(d, 2.0f)));
  const V s2 = hn::Mul(s, s);
  // 2 atanh(s) = 2 s + s^3 q(s^2), q of degree 3: 4.5e-9.
  V q = hn::MulAdd(hn::Set(d, 0.2802556551594173f), s2, hn::Set(d, 0.2799926564550294f));
  q = hn::MulAdd(q, s2, hn::Set(d, 0.4002166766876189f));
  q = hn::MulAdd(q, s2, hn::Set(d, 0.6666641413939581f));
  return hn::MulAdd(hn::Mul(q, s2), s, hn::Add(s, s));
}

// log(1 + exp(x)). Above 17 this is x in float32.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V softplus(D d, V x) {
  const V e = exp(d, hn::Neg(hn::Abs(x)));
  return hn::Add(hn::Max(hn::Zero(d), x), log1p_of_unit(d, e));
}

// 1 / (1 + exp(-x)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = exp(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(e, one));
}

// x / (1 + exp(-x)). SiLU(-Inf) is NaN, as in the formula.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = exp(d, hn::Neg(hn::Abs(x)));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, e), x);
  return hn::Div(numerator, hn::Add(e, one));
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SIMD_MATH_INL_H
