// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Every vector function on every instruction set this machine has, held to a number of ULP (units
// in the last place of the exact result as F32; below the normal range that unit is 2^-149).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cpu/simd/array_math.h"

namespace hiss::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// |result - exact| in units in the last place of exact. Overflow to Inf is right from half a unit
// above the largest float on.
double ulp_error(float result, double exact) {
  if (std::isnan(exact) || std::isnan(result))
    return std::isnan(exact) == std::isnan(result) ? 0 : kInf;
  const float nearest = static_cast<float>(exact);
  if (std::isinf(nearest) || std::isinf(result)) return nearest == result ? 0 : kInf;
  const int exponent = std::max(std::ilogb(nearest == 0.0f ? 0x1p-149f : nearest), -126);
  return std::abs(result - exact) / std::ldexp(1.0, exponent - 23);
}

TEST(UlpError, CountsUnitsInTheLastPlace) {
  EXPECT_EQ(ulp_error(1.0f, 1.0), 0);
  EXPECT_EQ(ulp_error(1.0f + 0x1p-23f, 1.0), 1);
  EXPECT_EQ(ulp_error(-2.0f, -2.0 - 0x1p-22), 1);
  EXPECT_EQ(ulp_error(0.0f, 0x1p-149), 1);
  EXPECT_EQ(ulp_error(0x1p-126f, 0x1p-126 + 0x1p-150), 0.5);
  EXPECT_EQ(ulp_error(kInf, 1e39), 0);
  EXPECT_EQ(ulp_error(kNan, std::nan("")), 0);
  EXPECT_EQ(ulp_error(kNan, 1.0), kInf);
  EXPECT_EQ(ulp_error(1.0f, std::nan("")), kInf);
  EXPECT_EQ(ulp_error(3e38f, 1e39), kInf);
}

// Floats from `from` to `to` (of one sign) by equal steps of their bit patterns: every binade, and
// the subnormals, are visited alike.
std::vector<float> walk_bits(float from, float to, uint32_t step) {
  const uint32_t a = std::bit_cast<uint32_t>(from), b = std::bit_cast<uint32_t>(to);
  std::vector<float> values;
  for (uint64_t bits = std::min(a, b); bits <= std::max(a, b); bits += step)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  values.push_back(std::bit_cast<float>(std::max(a, b)));
  return values;
}

struct Function {
  const char* name;
  ArrayMath::Unary ArrayMath::*member;
  double (*exact)(double);
  float lowest, highest;  // range of the promise
  double ulp;             // the promise
};

const Function kFunctions[] = {
    {"exp", &ArrayMath::exp, [](double x) { return std::exp(x); }, -kInf, kInf, 1.0},
    {"expm1", &ArrayMath::expm1, [](double x) { return std::expm1(x); }, -kInf, 88.7f, 4.0},
    {"log1p", &ArrayMath::log1p, [](double x) { return std::log1p(x); }, -0.999f, 3.4e38f, 2.5},
    {"softplus", &ArrayMath::softplus,
     [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, -kInf, kInf,
     3.25},
    {"sigmoid", &ArrayMath::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -kInf, kInf,
     3.0},
    {"silu", &ArrayMath::silu, [](double x) { return x / (1 + std::exp(-x)); }, -87.0f, kInf, 3.25},
};

class VectorMath : public testing::TestWithParam<const ArrayMath*> {
 protected:
  const ArrayMath& math() const { return *GetParam(); }
};

TEST_P(VectorMath, UnaryFunctionsKeepTheirUlp) {
  constexpr uint32_t kStep = 1511;  // a prime: 1.4 million values a sign
  for (const Function& f : kFunctions) {
    double worst = 0;
    float worst_x = 0;
    for (const auto& xs : {walk_bits(0.0f, f.highest, kStep), walk_bits(-0.0f, f.lowest, kStep)}) {
      std::vector<float> results(xs.size());
      (math().*f.member)(xs.data(), static_cast<int64_t>(xs.size()), results.data());
      for (size_t i = 0; i < xs.size(); ++i) {
        const double error = ulp_error(results[i], f.exact(xs[i]));
        if (error > worst) worst = error, worst_x = xs[i];
      }
    }
    std::printf("%-8s %-8s worst %.3f ULP at %a (%g)\n", std::string(math().isa).c_str(), f.name,
                worst, worst_x, worst_x);
    EXPECT_LE(worst, f.ulp) << f.name << " at " << worst_x;
  }
}

TEST_P(VectorMath, ExpUnderflowsGraduallyAndOverflowsToInf) {
  const std::vector<float> xs = {-87.3f,   -87.5f,   -90.0f,  -95.0f, -100.0f, -103.0f,
                                 -103.97f, -103.98f, -104.0f, -1e30f, -kInf,   88.72f,
                                 88.73f,   1e30f,    kInf,    kNan};
  std::vector<float> results(xs.size());
  math().exp(xs.data(), static_cast<int64_t>(xs.size()), results.data());
  for (size_t i = 0; i < xs.size(); ++i)
    EXPECT_LE(ulp_error(results[i], std::exp(double{xs[i]})), 1.0) << "exp(" << xs[i] << ")";
  EXPECT_GT(results[6], 0.0f);
  EXPECT_EQ(results[7], 0.0f);
  EXPECT_TRUE(std::isnan(results.back()));
}

TEST_P(VectorMath, SiluAndSigmoidBelowTheNormalRangeAreTiny) {
  for (float x : {-88.0f, -95.0f, -103.0f, -110.0f, -1e30f}) {
    float silu = kNan;
    math().silu(&x, 1, &silu);
    EXPECT_NEAR(silu, 0.0f, 1e-36f) << x;
    EXPECT_LE(silu, 0.0f) << x;
  }
}

TEST_P(VectorMath, NanStaysNan) {
  for (const Function& f : kFunctions) {
    float result = 0;
    (math().*f.member)(&kNan, 1, &result);
    EXPECT_TRUE(std::isnan(result)) << f.name;
  }
}

TEST_P(VectorMath, EveryLengthGivesWhatOneByOneGives) {
  std::vector<float> xs(70);
  for (size_t i = 0; i < xs.size(); ++i) xs[i] = 0.37f * static_cast<float>(i) - 0.9f;
  for (const Function& f : kFunctions) {
    for (size_t n = 0; n < xs.size(); ++n) {
      std::vector<float> results(n + 1, -7.0f);
      (math().*f.member)(xs.data(), static_cast<int64_t>(n), results.data());
      for (size_t i = 0; i < n; ++i) {
        float alone = 0;
        (math().*f.member)(&xs[i], 1, &alone);
        ASSERT_EQ(results[i], alone) << f.name << " of " << n << " at " << i;
      }
      ASSERT_EQ(results[n], -7.0f) << f.name << " wrote behind " << n;
    }
  }
}

TEST_P(VectorMath, SinCosKeepTheirUlp) {
  double worst[2] = {0, 0};
  for (float sign : {1.0f, -1.0f}) {
    for (float x : {0x1p-149f, 1e-10f, 1e-3f}) {
      float s, c;
      x *= sign;
      math().sincos(&x, 1, &s, &c);
      worst[0] = std::max(worst[0], ulp_error(s, std::sin(double{x})));
      worst[1] = std::max(worst[1], ulp_error(c, std::cos(double{x})));
    }
    // The angles of spectra.
    for (int i = 0; i < 1000000; ++i) {
      const float x = sign * static_cast<float>(i) * 6.3e-6f;
      float s, c;
      math().sincos(&x, 1, &s, &c);
      // Near a zero the last place is one of the angle's rounding: absolute error there.
      worst[0] = std::max(worst[0], std::abs(s - std::sin(double{x})) / 0x1p-24);
      worst[1] = std::max(worst[1], std::abs(c - std::cos(double{x})) / 0x1p-24);
    }
  }
  std::printf("%-8s sin %.3f, cos %.3f units of 2^-24\n", std::string(math().isa).c_str(), worst[0],
              worst[1]);
  EXPECT_LE(worst[0], 3.0);
  EXPECT_LE(worst[1], 3.0);
}

TEST_P(VectorMath, Atan2KeepsItsUlpInEveryOctant) {
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double angle = 3.1415926 * (i - 100000) / 100000.0;
    const double radius = std::exp2(i % 60 - 30);
    const float y = static_cast<float>(radius * std::sin(angle));
    const float x = static_cast<float>(radius * std::cos(angle));
    float result = kNan;
    math().atan2(&y, &x, 1, &result);
    worst = std::max(worst, ulp_error(result, std::atan2(double{y}, double{x})));
  }
  std::printf("%-8s atan2 worst %.3f ULP\n", std::string(math().isa).c_str(), worst);
  EXPECT_LE(worst, 4.0);
}

TEST_P(VectorMath, Atan2OfZerosAndInfinitiesIsThatOfTheStandard) {
  const std::vector<float> special = {0.0f,  -0.0f,     1.0f,       -1.0f, kInf,
                                      -kInf, 0x1p-149f, -0x1p-149f, kNan};
  for (float y : special) {
    for (float x : special) {
      float result = 0;
      math().atan2(&y, &x, 1, &result);
      const float want = std::atan2(y, x);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(result)) << y << ", " << x;
      } else {
        EXPECT_NEAR(result, want, 3e-7f) << y << ", " << x;
        EXPECT_EQ(std::signbit(result), std::signbit(want)) << y << ", " << x;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, VectorMath, testing::ValuesIn(all_array_math(this_machine())),
                         [](const auto& isa) { return std::string(isa.param->isa); });

}  // namespace
}  // namespace hiss::cpu
