// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The scan's decay exp(delta * A) on every instruction set this machine has.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hiss/machine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/decay_test.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/simd/decay-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

// exp(delta[i] * a[i]), n a multiple of 16.
template <DecayRange kRange>
void decay_of_array(const float* delta, const float* a, size_t n, float* result) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < n; i += HWY_LANES(float)) {
    const auto rate = prepare_decay(d, hn::LoadU(d, a + i));
    hn::StoreU(decay<kRange>(d, hn::LoadU(d, delta + i), rate), d, result + i);
  }
}

}  // namespace
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#if HWY_ONCE
namespace hiss::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using DecayOfArray = void(const float* delta, const float* a, size_t n, float* result);
struct Target {
  const char* isa;
  bool Machine::*present;
  DecayOfArray *any, *no_growth, *near;
};

void PrintTo(const Target& t, std::ostream* out) { *out << t.isa; }

#define HISS_TARGET(isa, name)                                           \
  {                                                                      \
#isa, &Machine::isa, name::decay_of_array < name::DecayRange::kAny>, \
        name::decay_of_array < name::DecayRange::kNoGrowth>,             \
        name::decay_of_array < name::DecayRange::kNear>                  \
  }
constexpr Target kTargets[] = {
#if defined(__x86_64__)
    HISS_TARGET(avx512, N_AVX3), HISS_TARGET(avx2, N_AVX2), HISS_TARGET(sse4, N_SSE4)
#elif defined(__aarch64__)
    HISS_TARGET(neon, N_NEON)
#endif
};
#undef HISS_TARGET

class Decay : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (!(this_machine().*GetParam().present)) GTEST_SKIP() << "this CPU has no " << GetParam().isa;
  }
  static std::vector<float> decay(DecayOfArray* form, const std::vector<float>& delta,
                                  const std::vector<float>& a) {
    std::vector<float> result(delta.size());
    form(delta.data(), a.data(), delta.size(), result.data());
    return result;
  }
};

// 16 n products with |product| about `size`; A from -0.01 to -20, signs as exp(delta * A) <= 1 has.
void products(size_t n, double size, std::vector<float>& delta, std::vector<float>& a) {
  delta.clear(), a.clear();
  for (size_t i = 0; i < 16 * n; ++i) {
    const double rate = 0.01 * std::exp(7.6 * static_cast<double>(i * 7919 % 10007) / 10007.0);
    a.push_back(static_cast<float>(-rate));
    delta.push_back(
        static_cast<float>(size * (0.5 + 0.5 * static_cast<double>(i) / (16.0 * n)) / rate));
  }
}

TEST_P(Decay, IsWithin12e8TimesOnePlusTheProductOfTheExactExponential) {
  std::vector<float> delta, a;
  double worst = 0;
  for (double size : {1e-6, 1e-3, 0.1, 1.0, 4.0, 16.0, 60.0, 87.3}) {
    products(20000, size, delta, a);
    for (DecayOfArray* form : {GetParam().any, GetParam().no_growth, GetParam().near}) {
      if (form == GetParam().near && size > 60.0) continue;
      const std::vector<float> result = decay(form, delta, a);
      for (size_t i = 0; i < result.size(); ++i) {
        const double product = double{delta[i]} * double{a[i]}, exact = std::exp(product);
        worst = std::max(worst, std::abs(result[i] - exact) / (exact * (1 - product)));
      }
    }
  }
  std::printf("%s: decay worst relative error / (1 + |product|) %.3e\n", GetParam().isa, worst);
  EXPECT_LE(worst, 1.2e-7);
}

TEST_P(Decay, SlowDecaysKeepTheirRate) {
  // 1 - exp(-x), which a state with a long memory integrates, is as good as float can hold it.
  std::vector<float> delta, a;
  products(1000, 1e-3, delta, a);
  const std::vector<float> result = decay(GetParam().near, delta, a);
  for (size_t i = 0; i < result.size(); ++i)
    EXPECT_NEAR(result[i], std::exp(double{delta[i]} * double{a[i]}), 0x1p-25 * 1.02) << i;
}

TEST_P(Decay, BelowTheNormalRangeIsBelowIt) {
  std::vector<float> delta, a;
  for (int i = 0; i < 16 * 2000; ++i) {
    delta.push_back(87.34f + 0.01f * static_cast<float>(i));
    a.push_back(-1.0f);
  }
  for (DecayOfArray* form : {GetParam().any, GetParam().no_growth})
    for (const float value : decay(form, delta, a)) {
      EXPECT_GE(value, 0.0f);
      EXPECT_LT(value, 0x1p-126f);
    }
}

TEST_P(Decay, FormsAgreeToTheBitWhereTheyHold) {
  std::vector<float> delta, a;
  for (double size : {1e-9, 0.01, 1.0, 20.0, 66.0, 100.0, 1000.0}) {
    products(5000, size, delta, a);
    const std::vector<float> want = decay(GetParam().any, delta, a);
    EXPECT_EQ(decay(GetParam().no_growth, delta, a), want) << size;
    if (size > 66.0) continue;
    EXPECT_EQ(decay(GetParam().near, delta, a), want) << size;
    for (float& rate : a) rate = -rate;
    EXPECT_EQ(decay(GetParam().near, delta, a), decay(GetParam().any, delta, a)) << -size;
  }
}

TEST_P(Decay, LargeGrowthIsRightUpToTheLargestNumber) {
  const std::vector<float> delta(16, 1.0f);
  for (float rate = 60.0f; rate < 88.7f; rate += 0.07f) {
    const double exact = std::exp(double{rate});
    const float value = decay(GetParam().any, delta, std::vector<float>(16, rate))[3];
    EXPECT_NEAR(value / exact, 1, 1.2e-7 * (1 + rate)) << rate;
  }
}

TEST_P(Decay, ExtremesFollowTheFormula) {
  struct Case {
    float delta, a, want;
  };
  const Case cases[] = {{0, -1, 1},         {1, 0, 1},         {kInf, -1, 0},    {1e30f, -1e-3f, 0},
                        {3e38f, -3e38f, 0}, {1, -kInf, 0},     {1, 89, kInf},    {1, 1e30f, kInf},
                        {-1, -200, kInf},   {-kInf, -1, kInf}, {kNan, -1, kNan}, {1, kNan, kNan},
                        {kInf, 0, kNan},    {0, -kInf, kNan}};
  for (const Case& c : cases) {
    // Its neighbours must not see it.
    std::vector<float> delta(16, 0.5f), a(16, -1.0f);
    delta[5] = c.delta, a[5] = c.a;
    const std::vector<float> result = decay(GetParam().any, delta, a);
    if (std::isnan(c.want))
      EXPECT_TRUE(std::isnan(result[5])) << c.delta << " * " << c.a;
    else
      EXPECT_EQ(result[5], c.want) << c.delta << " * " << c.a;
    EXPECT_NEAR(result[4], std::exp(-0.5), 1e-7);
    EXPECT_EQ(result[6], result[4]);
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Decay, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.isa); });

}  // namespace
}  // namespace hiss::cpu
#endif  // HWY_ONCE
