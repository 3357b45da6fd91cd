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

// The larger of the two, and the smaller; NaN where x is. x86 gives the second operand where one is
// NaN; of NEON's two instructions Highway takes the one that gives the other number.
template <class V>
HWY_INLINE V at_least(V limit, V x) {
#if HWY_TARGET == HWY_NEON
  return V{vmaxq_f32(limit.raw, x.raw)};
#else
  return hn::Max(limit, x);
#endif
}
template <class V>
HWY_INLINE V at_most(V limit, V x) {
#if HWY_TARGET == HWY_NEON
  return V{vminq_f32(limit.raw, x.raw)};
#else
  return hn::Min(limit, x);
#endif
}

// Added to and taken from a number below 2^22 in magnitude, this rounds it to an integer, which is
// then also in the low bits of the sum.
inline constexpr float kRoundingShift = 12582912.0f;  // 1.5 * 2^23

// 2^(i/16) or 2^(i/8).
#if HWY_TARGET == HWY_AVX3
alignas(64) inline constexpr float kRootsOf2[16] = {
    1.0f,        1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f, 1.24185777f,
    1.29683959f, 1.35425556f, 1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f,
    1.68179286f, 1.75625217f, 1.8340081f,  1.91520655f};
#elif HWY_TARGET == HWY_AVX2
alignas(32) inline constexpr float kRootsOf2[8] = {
    1.0f, 1.09050775f, 1.18920708f, 1.29683959f, 1.41421354f, 1.54221082f, 1.68179286f, 1.8340081f};
#endif

// p * 2^floor(k) for k (also as an integer, rounded down) in [-252, 254]: rounded once, so that
// results below the normal range are right.
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
  // Beyond these the result is 0 or Inf.
  const V c = at_most(hn::Set(d, 89.0f), at_least(hn::Set(d, -104.5f), x));
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

// exp(-|x|), for the functions below. Where an instruction looks 2^(i/16) or 2^(i/8) up in a
// register, the polynomial is shorter than exp's; otherwise this is exp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_minus_abs(D d, V x) {
  const V minus_abs = hn::Neg(hn::Abs(x));
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  constexpr int kBits = HWY_TARGET == HWY_AVX3 ? 4 : 3;
  const hn::RebindToSigned<D> di;
  const V c = at_least(hn::Set(d, -104.5f), minus_abs);
  // c = k ln(2) + r with k a multiple of 1/16 (1/8), so that |r| <= ln(2)/32 (ln(2)/16).
  const V shift = hn::Set(d, kRoundingShift / (1 << kBits));
  const V t = hn::MulAdd(c, hn::Set(d, 1.44269504f), shift);
  const V k = hn::Sub(t, shift);
  V r = hn::NegMulAdd(k, hn::Set(d, 0.693145752f), c);
  r = hn::NegMulAdd(k, hn::Set(d, 1.42860677e-6f), r);
  // Taylor to the cube: 9e-9 and, with the next term, 1e-9.
  V q = hn::Set(d, 1.0f / 6);
#if HWY_TARGET == HWY_AVX3
  const hn::Indices512<float> indices{hn::BitCast(di, t).raw};
#else
  const hn::Indices256<float> indices{hn::BitCast(di, t).raw};
  q = hn::MulAdd(r, hn::Set(d, 1.0f / 24), q);
#endif
  q = hn::MulAdd(q, r, hn::Set(d, 0.5f));
  q = hn::MulAdd(q, r, hn::Set(d, 1.0f));
  const V power = hn::TableLookupLanes(hn::Load(d, kRootsOf2), indices);
  const V p = hn::MulAdd(hn::Mul(power, r), q, power);
  const auto k_int = hn::ShiftRight<kBits>(hn::Sub(hn::BitCast(di, t), hn::BitCast(di, shift)));
  return scale_by_power_of_2(d, p, k, k_int);
#else
  return exp(d, minus_abs);
#endif
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
  const V e = exp_of_minus_abs(d, x);
  return hn::Add(at_least(hn::Zero(d), x), log1p_of_unit(d, e));
}

// 1 / (1 + exp(-x)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = exp_of_minus_abs(d, x);
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(e, one));
}

// x / (1 + exp(-x)). SiLU(-Inf) is NaN, as in the formula.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = exp_of_minus_abs(d, x);
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, e), x);
  return hn::Div(numerator, hn::Add(e, one));
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SIMD_MATH_INL_H
