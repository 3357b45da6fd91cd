// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Vectors of F32 from and to memory of F32, F16 or BF16: to float exactly, from float to nearest
// even, as core/float16.h does one by one.

#if defined(HISS_CPU_SIMD_ELEMENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SIMD_ELEMENTS_INL_H
#undef HISS_CPU_SIMD_ELEMENTS_INL_H
#else
#define HISS_CPU_SIMD_ELEMENTS_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "cpu/simd/isa-inl.h"
#include "hiss/tensor.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_elements(D d, const float* p) {
  return hn::LoadU(d, p);
}
template <class T, class D>
HWY_INLINE hn::Vec<D> load_elements(D d, const T* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), p));
}

#if HWY_TARGET == HWY_SSE4  // no instruction; see float_from_f16
template <class D>
HWY_INLINE hn::Vec<D> load_elements(D d, const hwy::float16_t* p) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<uint16_t, D> du16;
  const auto bits = hn::PromoteTo(di, hn::LoadU(du16, reinterpret_cast<const uint16_t*>(p)));
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7fff));
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto finite = hn::Mul(hn::BitCast(d, shifted), hn::Set(d, 0x1p112f));
  const auto other = hn::BitCast(d, hn::Or(shifted, hn::Set(di, 0x7f800000)));
  const auto is_other = hn::RebindMask(d, hn::Gt(magnitude, hn::Set(di, 0x7bff)));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
  return hn::Or(hn::IfThenElse(is_other, other, finite), hn::BitCast(d, sign));
}
#endif

template <class D>
HWY_INLINE void store_elements(hn::Vec<D> v, D d, float* p) {
  hn::StoreU(v, d, p);
}

template <class D>
HWY_INLINE void store_elements(hn::Vec<D> v, [[maybe_unused]] D d, hwy::bfloat16_t* p) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> du16;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(bits, hn::Add(hn::Set(du, 0x7fff), odd));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000));
  const auto result = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
  hn::StoreU(hn::TruncateTo(du16, hn::ShiftRight<16>(result)), du16,
             reinterpret_cast<uint16_t*>(p));
}

template <class D>
HWY_INLINE void store_elements(hn::Vec<D> v, [[maybe_unused]] D d, hwy::float16_t* p) {
#if HWY_TARGET == HWY_SSE4  // no instruction; see f16_from_float
  const hn::RebindToSigned<D> di;
  const hn::Rebind<uint16_t, D> du16;
  const auto bits = hn::BitCast(di, v);
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7fffffff));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0x8000));
  const auto small = hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f))),
                             hn::Set(di, 0x3f000000));
  const auto rebiased = hn::Sub(magnitude, hn::Set(di, 0x38000000));
  const auto odd = hn::And(hn::ShiftRight<13>(rebiased), hn::Set(di, 1));
  auto result = hn::ShiftRight<13>(hn::Add(rebiased, hn::Add(hn::Set(di, 0xfff), odd)));
  result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x38800000)), small, result);
  result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x477ff000)), result, hn::Set(di, 0x7c00));
  result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7f800000)), hn::Set(di, 0x7e00), result);
  const hn::RebindToUnsigned<D> du;
  hn::StoreU(hn::TruncateTo(du16, hn::BitCast(du, hn::Or(result, sign))), du16,
             reinterpret_cast<uint16_t*>(p));
#else
  const hn::Rebind<hwy::float16_t, D> d16;
  hn::StoreU(hn::DemoteTo(d16, v), d16, p);
#endif
}

// The first n < Lanes(d) elements at p, zeros after them.
template <class T, class D>
HWY_INLINE hn::Vec<D> load_first(D d, const T* p, size_t n) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == sizeof(float)) return hn::MaskedLoad(hn::FirstN(d, n), d, p);
#endif
  T lanes[HWY_LANES(float)] = {};
  std::memcpy(lanes, p, n * sizeof(T));
  return load_elements(d, lanes);
}

template <class T, class D>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* p, size_t n) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == sizeof(float)) return hn::BlendedStore(v, hn::FirstN(d, n), d, p);
#endif
  T lanes[HWY_LANES(float)];
  store_elements(v, d, lanes);
  std::memcpy(p, lanes, n * sizeof(T));
}

// n elements one after another.
template <class From, class To>
HWY_INLINE void copy_elements(const From* from, int64_t n, To* to) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kStep = HWY_LANES(float);
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) store_elements(load_elements(d, from + i), d, to + i);
  if (i < n) store_first(load_first(d, from + i, n - i), d, to + i, n - i);
}

// Calls f with a pointer of the element type.
template <class Void, class F>
HWY_INLINE void with_element_type(DType dtype, Void* data, F&& f) {
  using Types = BasicTensorView<Void>;
  switch (dtype) {
    case DType::kBF16:
      return f(static_cast<typename Types::template Element<hwy::bfloat16_t>*>(data));
    case DType::kF16:
      return f(static_cast<typename Types::template Element<hwy::float16_t>*>(data));
    default:
      return f(static_cast<typename Types::template Element<float>*>(data));
  }
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SIMD_ELEMENTS_INL_H
