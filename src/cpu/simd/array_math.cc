// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/simd/array_math.h"

#include <algorithm>
#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/array_math.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/simd/elements-inl.h"
#include "cpu/simd/math-inl.h"
#include "cpu/simd/more_math-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;

// Calls f(i, lanes) for each vector; only the last may have fewer lanes than a vector.
template <class F>
HWY_INLINE void for_each_vector(int64_t n, F&& f) {
  constexpr int64_t kLanes = HWY_LANES(float);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, size_t{HWY_LANES(float)});
  if (i < n) f(i, static_cast<size_t>(n - i));
}

HWY_INLINE V load_lanes(const float* p, size_t lanes) {
  const Tag d;
  return lanes == HWY_LANES(float) ? hn::LoadU(d, p) : load_first(d, p, lanes);
}
HWY_INLINE void store_lanes(V v, float* p, size_t lanes) {
  const Tag d;
  if (lanes == HWY_LANES(float))
    hn::StoreU(v, d, p);
  else
    store_first(v, d, p, lanes);
}

#define HISS_ARRAY_FUNCTION(name)                                        \
  void name##_of_array(const float* x, int64_t n, float* result) {       \
    const Tag d;                                                         \
    for_each_vector(n, [&](int64_t i, size_t lanes) HWY_ATTR {           \
      store_lanes(name(d, load_lanes(x + i, lanes)), result + i, lanes); \
    });                                                                  \
  }
HISS_ARRAY_FUNCTION(exp)
HISS_ARRAY_FUNCTION(expm1)
HISS_ARRAY_FUNCTION(log1p)
HISS_ARRAY_FUNCTION(softplus)
HISS_ARRAY_FUNCTION(sigmoid)
HISS_ARRAY_FUNCTION(silu)
#undef HISS_ARRAY_FUNCTION

void sincos_of_array(const float* x, int64_t n, float* sine, float* cosine) {
  const Tag d;
  for_each_vector(n, [&](int64_t i, size_t lanes) HWY_ATTR {
    const V v = load_lanes(x + i, lanes);
    store_lanes(sin(d, v), sine + i, lanes);
    store_lanes(cos(d, v), cosine + i, lanes);
  });
}

void atan2_of_array(const float* y, const float* x, int64_t n, float* angle) {
  const Tag d;
  for_each_vector(n, [&](int64_t i, size_t lanes) HWY_ATTR {
    store_lanes(atan2(d, load_lanes(y + i, lanes), load_lanes(x + i, lanes)), angle + i, lanes);
  });
}

}  // namespace
extern constinit const ArrayMath kArrayMath;
constinit const ArrayMath kArrayMath{.isa = HISS_ISA_NAME,
                                     .exp = exp_of_array,
                                     .expm1 = expm1_of_array,
                                     .log1p = log1p_of_array,
                                     .softplus = softplus_of_array,
                                     .sigmoid = sigmoid_of_array,
                                     .silu = silu_of_array,
                                     .sincos = sincos_of_array,
                                     .atan2 = atan2_of_array};
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#if HWY_ONCE
namespace hiss::cpu {
namespace {

template <double (*kFunction)(double)>
void one_by_one(const float* x, int64_t n, float* result) {
  for (int64_t i = 0; i < n; ++i) result[i] = static_cast<float>(kFunction(x[i]));
}

constinit const ArrayMath kBaseline{
    .isa = "baseline",
    .exp = one_by_one<[](double x) { return std::exp(x); }>,
    .expm1 = one_by_one<[](double x) { return std::expm1(x); }>,
    .log1p = one_by_one<[](double x) { return std::log1p(x); }>,
    .softplus =
        one_by_one<[](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }>,
    .sigmoid = one_by_one<[](double x) { return 1.0 / (1.0 + std::exp(-x)); }>,
    .silu = one_by_one<[](double x) { return x / (1.0 + std::exp(-x)); }>,
    .sincos =
        [](const float* x, int64_t n, float* sine, float* cosine) {
          for (int64_t i = 0; i < n; ++i) {
            const double v = x[i];
            sine[i] = static_cast<float>(std::sin(v));
            cosine[i] = static_cast<float>(std::cos(v));
          }
        },
    .atan2 =
        [](const float* y, const float* x, int64_t n, float* angle) {
          for (int64_t i = 0; i < n; ++i)
            angle[i] = static_cast<float>(std::atan2(double{y[i]}, double{x[i]}));
        }};

}  // namespace

std::vector<const ArrayMath*> all_array_math(const Machine& machine) {
  std::vector<const ArrayMath*> found;
#if defined(__x86_64__)
  if (machine.avx512) found.push_back(&N_AVX3::kArrayMath);
  if (machine.avx2) found.push_back(&N_AVX2::kArrayMath);
  if (machine.sse4) found.push_back(&N_SSE4::kArrayMath);
#elif defined(__aarch64__)
  if (machine.neon) found.push_back(&N_NEON::kArrayMath);
#endif
  found.push_back(&kBaseline);
  return found;
}

const ArrayMath& array_math() {
  static const ArrayMath& best = *all_array_math(this_machine()).front();
  return best;
}

}  // namespace hiss::cpu
#endif  // HWY_ONCE
