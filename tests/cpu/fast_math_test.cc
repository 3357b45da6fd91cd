// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The functions of Precision::kFast on every instruction set this machine has, against double.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hiss/machine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fast_math_test.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/simd/fast_math-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

// n is a multiple of 16.
template <class F>
void for_each_vector(const float* x, size_t n, float* result, F&& f) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < n; i += HWY_LANES(float))
    hn::StoreU(f(d, hn::LoadU(d, x + i)), d, result + i);
}
void exp_of_array(const float* x, size_t n, float* result) {
  for_each_vector(x, n, result, [](auto d, auto v) HWY_ATTR {
    return decay<DecayRange::kAny, /*kFast=*/true>(d, v, prepare_decay(d, hn::Set(d, -1.0f)));
  });
}
void softplus_of_array(const float* x, size_t n, float* result) {
  for_each_vector(x, n, result, [](auto d, auto v) HWY_ATTR { return fast_softplus(d, v); });
}
void silu_of_array(const float* x, size_t n, float* result) {
  for_each_vector(x, n, result, [](auto d, auto v) HWY_ATTR { return fast_silu(d, v); });
}

}  // namespace
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#if HWY_ONCE
namespace hiss::cpu {
namespace {

using OfArray = void(const float* x, size_t n, float* result);
struct Target {
  const char* isa;
  bool Machine::*present;
  OfArray *exp, *softplus, *silu;  // exp: of -x
};
#define HISS_TARGET(isa, name) \
  { #isa, &Machine::isa, name::exp_of_array, name::softplus_of_array, name::silu_of_array }
constexpr Target kTargets[] = {
#if defined(__x86_64__)
    HISS_TARGET(avx512, N_AVX3), HISS_TARGET(avx2, N_AVX2), HISS_TARGET(sse4, N_SSE4)
#elif defined(__aarch64__)
    HISS_TARGET(neon, N_NEON)
#endif
};
#undef HISS_TARGET

class FastMath : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (!(this_machine().*GetParam().present)) GTEST_SKIP() << "this CPU has no " << GetParam().isa;
  }
  // The largest relative error over 16 n arguments from `from` to `to`.
  static double worst(OfArray* function, double (*exact)(double), float from, float to, size_t n) {
    std::vector<float> x, result(16 * n);
    for (size_t i = 0; i < 16 * n; ++i)
      x.push_back(from + (to - from) * static_cast<float>(i) / static_cast<float>(16 * n));
    function(x.data(), x.size(), result.data());
    double largest = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = exact(x[i]);
      if (want != 0) largest = std::max(largest, std::abs(result[i] - want) / std::abs(want));
    }
    return largest;
  }
};

TEST_P(FastMath, DecayIsWithin2e5) {
  EXPECT_LT(worst(
                GetParam().exp, [](double x) { return std::exp(-x); }, 0, 87, 10000),
            2.5e-5);
  EXPECT_LT(worst(
                GetParam().exp, [](double x) { return std::exp(-x); }, -88, 0, 10000),
            2.5e-5);
}
TEST_P(FastMath, SoftplusIsWithin5e4) {
  const auto softplus = [](double x) {
    return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  };
  EXPECT_LT(worst(GetParam().softplus, softplus, -87, 100, 20000), 5e-4);
}
TEST_P(FastMath, SiluIsWithin5e4) {
  EXPECT_LT(worst(
                GetParam().silu, [](double x) { return x / (1 + std::exp(-x)); }, -87, 100, 20000),
            5e-4);
}
TEST_P(FastMath, NanStaysNan) {
  const std::vector<float> x(16, std::nanf(""));
  std::vector<float> result(16);
  for (OfArray* f : {GetParam().exp, GetParam().softplus, GetParam().silu}) {
    f(x.data(), 16, result.data());
    EXPECT_TRUE(std::isnan(result[7]));
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, FastMath, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.isa); });

}  // namespace
}  // namespace hiss::cpu
#endif  // HWY_ONCE
