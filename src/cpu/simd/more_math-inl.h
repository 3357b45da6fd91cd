// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Functions of the front end and the phase: Highway's own where it has them, checked and bounded
// like ours, and atan2, which it lacks.

#if defined(HISS_CPU_SIMD_MORE_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SIMD_MORE_MATH_INL_H
#undef HISS_CPU_SIMD_MORE_MATH_INL_H
#else
#define HISS_CPU_SIMD_MORE_MATH_INL_H
#endif

#include "cpu/simd/isa-inl.h"
#include "hwy/contrib/math/math-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sin(D d, V x) {
  return hn::Sin(d, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V cos(D d, V x) {
  return hn::Cos(d, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1(D d, V x) {
  return hn::Expm1(d, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p(D d, V x) {
  return hn::Log1p(d, x);
}

// The angle of (x, y): atan of the smaller part over the larger, then moved to its octant.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V atan2(D d, V y, V x) {
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  const V ax = hn::Abs(x), ay = hn::Abs(y);
  const auto steep = hn::Gt(ay, ax);
  const V small = hn::IfThenElse(steep, ax, ay), large = hn::IfThenElse(steep, ay, ax);
  // 0/0 is the angle 0, Inf/Inf the angle pi/4.
  V ratio = hn::Div(small, large);
  ratio = hn::IfThenElse(hn::Eq(large, zero), zero, ratio);
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  ratio = hn::IfThenElse(hn::Eq(small, infinity), one, ratio);
  V angle = hn::Atan(d, ratio);
  angle = hn::IfThenElse(steep, hn::Sub(hn::Set(d, 1.57079637f), angle), angle);
  // The sign bit counts, so that x = -0 is on the left. NaN is not right of anything.
  const hn::RebindToSigned<D> di;
  const auto left = hn::RebindMask(d, hn::Lt(hn::BitCast(di, x), hn::Zero(di)));
  angle = hn::IfThenElse(left, hn::Sub(hn::Set(d, 3.14159274f), angle), angle);
  angle = hn::CopySign(angle, y);
  const V sum = hn::Add(x, y);  // NaN if one of them is, or Inf - Inf
  const auto is_nan = hn::Or(hn::IsNaN(x), hn::IsNaN(y));
  return hn::IfThenElse(is_nan, sum, angle);
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SIMD_MORE_MATH_INL_H
