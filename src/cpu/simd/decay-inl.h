// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// exp(delta * A), the decay of a state, from an A that is prepared once: 2^x with x = delta * rate.
// The error is 1.2e-7 (1 + |delta A|) relative to exp of the exact product: small where a state is
// remembered for long, and where it is large the result hardly counts. Zen and its like have a pipe
// for additions beside the one that multiplies; this takes four additions and five
// multiplications. See docs/kernels/simd_math.md.

#if defined(HISS_CPU_SIMD_DECAY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SIMD_DECAY_INL_H
#undef HISS_CPU_SIMD_DECAY_INL_H
#else
#define HISS_CPU_SIMD_DECAY_INL_H
#endif

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
// Which x decay() is right for. Where several are, all give the same bits.
enum class DecayRange {
  kAny,
  kNoGrowth,  // up to kNearDecay
  kNear       // from -kNearDecay to kNearDecay
};
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

// A * log2(e) * kSteps.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V prepare_decay(D d, V a) {
  const hn::Repartition<double, D> dd;
  const hn::Half<D> dh;
  const auto factor = hn::Set(dd, 1.4426950408889634 * kSteps);
  const auto upper = hn::Mul(hn::PromoteTo(dd, hn::UpperHalf(dh, a)), factor);
  const auto lower = hn::Mul(hn::PromoteTo(dd, hn::LowerHalf(dh, a)), factor);
  return hn::Combine(d, hn::DemoteTo(dh, upper), hn::DemoteTo(dh, lower));
}

// 2^(x / kSteps). Below 2^-126 anything between 0 and that. kFast: an error of 2e-6
// (AVX-512), 1.4e-5 (AVX2), 5e-6 with a multiply-add less (two without a table).
template <DecayRange kRange, bool kFast, class D, class V = hn::Vec<D>>
HWY_INLINE V power_of_2(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V shift = hn::Set(d, kRoundingShift);
  if constexpr (kRange == DecayRange::kNoGrowth) x = at_least(hn::Set(d, -127.0f * kSteps), x);
  const V t = hn::Add(x, shift);
  const V f = hn::Sub(x, hn::Sub(t, shift));
  const auto exponent = hn::ShiftLeft<23 - kTableBits>(hn::BitCast(di, t));
  constexpr float c1 = 0.693147181f / kSteps;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
#if HWY_TARGET == HWY_AVX3
  // Degree 3 on [-1/32, 1/32]: 1.7e-9; degree 2: 1.7e-6.
  constexpr float c2 = (kFast ? 0.24019833398694126f : 0.24023442570040418f) / (kSteps * kSteps);
  constexpr float c3 = 0.05550428491534128f / (kSteps * kSteps * kSteps);
  const hn::Indices512<float> indices{hn::BitCast(di, t).raw};
#else
  // Degree 3 on [-1/16, 1/16]: 2.7e-8; degree 2: 1.4e-5.
  constexpr float c2 = (kFast ? 0.24011387671008458f : 0.24025810377864878f) / (kSteps * kSteps);
  constexpr float c3 = 0.05550475907029922f / (kSteps * kSteps * kSteps);
  const hn::Indices256<float> indices{hn::BitCast(di, t).raw};
#endif
  const V table = hn::BitCast(d, hn::Load(di, kPowerTable));
  const auto power_bits = hn::BitCast(di, hn::TableLookupLanes(table, indices));
  const V power = hn::BitCast(d, hn::Add(power_bits, exponent));
  V q = hn::Set(d, c2);
  if constexpr (!kFast) q = hn::MulAdd(hn::Set(d, c3), f, q);
  q = hn::MulAdd(q, f, hn::Set(d, c1));
  return hn::MulAdd(hn::Mul(power, f), q, power);
#else
  // Degree 6 on [-1/2, 1/2]: 3.1e-9; degree 4: 5.3e-6.
  V q;
  if constexpr (kFast) {
    q = hn::MulAdd(hn::Set(d, 0.009528354748931454f), f, hn::Set(d, 0.05579333684679921f));
    q = hn::MulAdd(q, f, hn::Set(d, 0.24025108748871046f));
  } else {
    q = hn::MulAdd(hn::Set(d, 0.00015320992318328545f), f, hn::Set(d, 0.0013390274438764335f));
    q = hn::MulAdd(q, f, hn::Set(d, 0.009618527886446982f));
    q = hn::MulAdd(q, f, hn::Set(d, 0.0555036205874721f));
    q = hn::MulAdd(q, f, hn::Set(d, 0.24022647530916752f));
  }
  q = hn::MulAdd(q, f, hn::Set(d, c1));
  const V result = hn::MulAdd(q, f, hn::Set(d, 1.0f));
  // NaN has no exponent to add to.
  return hn::IfThenElse(hn::IsNaN(x), x,
                        hn::BitCast(d, hn::Add(hn::BitCast(di, result), exponent)));
#endif
}

// exp(delta * A) for rate = prepare_decay(A).
template <DecayRange kRange, bool kFast = false, class D, class V = hn::Vec<D>>
HWY_INLINE V decay(D d, V delta, V rate) {
  const V x = hn::Mul(delta, rate);
  if constexpr (kRange != DecayRange::kAny) return power_of_2<kRange, kFast>(d, x);
  // Larger ones: 2^96 is taken out before and multiplied in after. From 160 on the result is Inf.
  const V limit = hn::Set(d, kNearDecay);
  const auto grows = hn::Gt(x, limit);
  const V rest = at_most(hn::Set(d, 64.0f * kSteps), hn::Sub(x, limit));
  const V result = power_of_2<DecayRange::kNoGrowth, kFast>(d, hn::IfThenElse(grows, rest, x));
  return hn::IfThenElse(grows, hn::Mul(result, hn::Set(d, 0x1p96f)), result);
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SIMD_DECAY_INL_H
