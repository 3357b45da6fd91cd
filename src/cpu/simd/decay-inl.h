// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// exp(delta * A), the decay of a state, from an A that is prepared once: 2^x with x = delta * A *
// log2(e), where A * log2(e) is kept in two floats and the product with delta is never rounded. So
// the error is below 1.5e-7 relative to exp of the exact product, for any x, and a prepared A costs
// less than exp(x) of a given x: a round, two multiply-adds, a short polynomial. See
// docs/kernels/simd_math.md.

#if defined(HISS_CPU_SIMD_DECAY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SIMD_DECAY_INL_H
#undef HISS_CPU_SIMD_DECAY_INL_H
#else
#define HISS_CPU_SIMD_DECAY_INL_H
#endif

#include <limits>

#include "cpu/simd/math-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {

// x is in units of 1 / kSteps: 2^(k / kSteps) for the kSteps values of k mod kSteps comes from a
// table in a register where one instruction does it, and the rest is a polynomial of f = x - k.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kTableBits = 4;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kTableBits = 3;
#else
inline constexpr int kTableBits = 0;
#endif
inline constexpr float kSteps = 1 << kTableBits;
// Where |x| of all lanes is at most this, decay<false> is right and equals decay<true> to the bit.
inline constexpr float kNearDecay = 96.0f * kSteps;

// Bits of 2^(i / kSteps) less i << (23 - kTableBits): adding k << (23 - kTableBits) gives
// 2^(k / kSteps).
#if HWY_TARGET == HWY_AVX3
alignas(64) inline constexpr int32_t kPowerTable[16] = {
    0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3, 0x3f7837f0, 0x3f76f532, 0x3f75fed7, 0x3f75583f,
    0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c, 0x3f7744fd, 0x3f78ccdf, 0x3f7ac0c7, 0x3f7d257d};
#elif HWY_TARGET == HWY_AVX2
alignas(32) inline constexpr int32_t kPowerTable[8] = {
    0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7, 0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7};
#endif

// A * log2(e) * kSteps in two parts. Without fused multiply-add the first part has 12 bits, so that
// its product with 12 bits of delta is exact.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void prepare_decay(D d, V a, V& high, V& low) {
  const hn::Repartition<double, D> dd;
  const hn::Half<D> dh;
  const auto factor = hn::Set(dd, 1.4426950408889634 * kSteps);
  const auto upper = hn::Mul(hn::PromoteTo(dd, hn::UpperHalf(dh, a)), factor);
  const auto lower = hn::Mul(hn::PromoteTo(dd, hn::LowerHalf(dh, a)), factor);
  high = hn::Combine(d, hn::DemoteTo(dh, upper), hn::DemoteTo(dh, lower));
#if !HWY_NATIVE_FMA
  const hn::RebindToUnsigned<D> du;
  high = hn::And(high, hn::BitCast(d, hn::Set(du, 0xfffff000u)));
#endif
  const auto rest_upper = hn::Sub(upper, hn::PromoteTo(dd, hn::UpperHalf(dh, high)));
  const auto rest_lower = hn::Sub(lower, hn::PromoteTo(dd, hn::LowerHalf(dh, high)));
  low = hn::Combine(d, hn::DemoteTo(dh, rest_upper), hn::DemoteTo(dh, rest_lower));
}

// delta, and its two halves where the products need them.
template <class V>
struct DecayTime {
  V delta;
#if !HWY_NATIVE_FMA
  V head, tail;
#endif
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE DecayTime<V> make_decay_time(D d, V delta) {
#if HWY_NATIVE_FMA
  (void)d;
  return {delta};
#else
  const hn::RebindToUnsigned<D> du;
  const V head = hn::And(delta, hn::BitCast(d, hn::Set(du, 0xfffff000u)));
  return {delta, head, hn::Sub(delta, head)};
#endif
}

// exp(time.delta * A). kAnyRange: right for every input, overflow and NaN included; otherwise for
// |x| <= kNearDecay.
template <bool kAnyRange, class D, class V = hn::Vec<D>>
HWY_INLINE V decay(D d, DecayTime<V> time, V high, V low) {
  const hn::RebindToSigned<D> di;
  const V shift = hn::Set(d, kRoundingShift);
  V x{};
  hn::Mask<D> in_range{};
  if constexpr (kAnyRange) {
    x = hn::Mul(time.delta, high);
    in_range = hn::Le(hn::Abs(x), hn::Set(d, 160.0f * kSteps));
    time.delta = hn::IfThenElseZero(in_range, time.delta);
#if !HWY_NATIVE_FMA
    time.head = hn::IfThenElseZero(in_range, time.head);
    time.tail = hn::IfThenElseZero(in_range, time.tail);
#endif
  }
  const V t = hn::MulAdd(time.delta, high, shift);
  const V k = hn::Sub(t, shift);
#if HWY_NATIVE_FMA
  const V f = hn::MulAdd(time.delta, low, hn::MulSub(time.delta, high, k));
#else
  const V f = hn::MulAdd(time.delta, low,
                         hn::MulAdd(time.tail, high, hn::Sub(hn::Mul(time.head, high), k)));
#endif
  auto exponent = hn::BitCast(di, t);
  if constexpr (kAnyRange)
    exponent = hn::And(exponent, hn::Set(di, (1 << kTableBits) - 1));  // scaled at the end
  constexpr int kShift = 23 - kTableBits;
  constexpr float c1 = 0.693147181f / kSteps;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
#if HWY_TARGET == HWY_AVX3
  // Degree 3 on [-1/32, 1/32]: 1.7e-9.
  constexpr float c2 = 0.24023442570040418f / (kSteps * kSteps);
  constexpr float c3 = 0.05550428491534128f / (kSteps * kSteps * kSteps);
  const hn::Indices512<float> indices{hn::BitCast(di, t).raw};
#else
  // Degree 3 on [-1/16, 1/16]: 2.7e-8.
  constexpr float c2 = 0.24025810377864878f / (kSteps * kSteps);
  constexpr float c3 = 0.05550475907029922f / (kSteps * kSteps * kSteps);
  const hn::Indices256<float> indices{hn::BitCast(di, t).raw};
#endif
  const V table = hn::BitCast(d, hn::Load(di, kPowerTable));
  const auto power_bits = hn::BitCast(di, hn::TableLookupLanes(table, indices));
  const V power = hn::BitCast(d, hn::Add(power_bits, hn::ShiftLeft<kShift>(exponent)));
  const V q = hn::MulAdd(hn::MulAdd(hn::Set(d, c3), f, hn::Set(d, c2)), f, hn::Set(d, c1));
  V result = hn::MulAdd(hn::Mul(power, f), q, power);
#else
  // Degree 6 on [-1/2, 1/2]: 3.1e-9.
  V q = hn::MulAdd(hn::Set(d, 0.00015320992318328545f), f, hn::Set(d, 0.0013390274438764335f));
  q = hn::MulAdd(q, f, hn::Set(d, 0.009618527886446982f));
  q = hn::MulAdd(q, f, hn::Set(d, 0.0555036205874721f));
  q = hn::MulAdd(q, f, hn::Set(d, 0.24022647530916752f));
  q = hn::MulAdd(q, f, hn::Set(d, c1));
  V result = hn::MulAdd(q, f, hn::Set(d, 1.0f));
  if constexpr (!kAnyRange)
    result = hn::BitCast(d, hn::Add(hn::BitCast(di, result), hn::ShiftLeft<kShift>(exponent)));
#endif
  if constexpr (kAnyRange) {
    const auto k_int =
        hn::ShiftRight<kTableBits>(hn::Sub(hn::BitCast(di, t), hn::BitCast(di, shift)));
    result = scale_by_power_of_2(d, result, hn::ConvertTo(d, k_int), k_int);
    const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    const V limit = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), infinity,
                                   hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x));
    result = hn::IfThenElse(in_range, result, limit);
  }
  return result;
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SIMD_DECAY_INL_H
