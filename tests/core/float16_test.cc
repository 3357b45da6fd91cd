// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "core/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hiss {
namespace {

// A format as its definition says: sign, exponent, fraction.
double value_of(uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const double fraction = std::ldexp(bits & ((1 << fraction_bits) - 1), -fraction_bits);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0 + fraction, exponent - bias);
  return bits & 0x8000 ? -magnitude : magnitude;
}

struct Format {
  const char* name;
  int exponent_bits;
  uint16_t inf;
  float (*to_float)(uint16_t);
  uint16_t (*from_float)(float);
};

void PrintTo(const Format& f, std::ostream* out) { *out << f.name; }

class Float16Test : public testing::TestWithParam<Format> {};

TEST_P(Float16Test, EveryFinitePatternHasItsValueAndComesBack) {
  const Format& f = GetParam();
  for (int i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    if ((bits & 0x7fff) >= f.inf) continue;
    ASSERT_EQ(f.to_float(bits), value_of(bits, f.exponent_bits)) << i;
    ASSERT_EQ(f.from_float(f.to_float(bits)), bits) << i;
  }
}

TEST_P(Float16Test, RoundsToNearestAndTiesToEven) {
  const Format& f = GetParam();
  for (int i = 0; i + 1 < f.inf; ++i) {
    const auto low = static_cast<uint16_t>(i), high = static_cast<uint16_t>(i + 1);
    const float middle = f.to_float(low) + (f.to_float(high) - f.to_float(low)) / 2;
    const uint16_t even = low & 1 ? high : low;
    ASSERT_EQ(f.from_float(middle), even) << i;
    ASSERT_EQ(f.from_float(std::nextafter(middle, 0.0f)), low) << i;
    ASSERT_EQ(f.from_float(std::nextafter(middle, INFINITY)), high) << i;
    ASSERT_EQ(f.from_float(-middle), even | 0x8000) << i;
  }
}

TEST_P(Float16Test, OverflowIsInfAndNanStaysNan) {
  const Format& f = GetParam();
  EXPECT_EQ(f.from_float(INFINITY), f.inf);
  EXPECT_EQ(f.from_float(-INFINITY), f.inf | 0x8000);
  EXPECT_EQ(f.from_float(std::numeric_limits<float>::max()), f.inf);
  EXPECT_EQ(f.to_float(f.inf), INFINITY);
  EXPECT_TRUE(std::isnan(f.to_float(f.from_float(NAN))));
  // A payload that the shorter fraction cannot hold.
  EXPECT_TRUE(std::isnan(f.to_float(f.from_float(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(f.to_float(f.inf | 1)));
}

INSTANTIATE_TEST_SUITE_P(Formats, Float16Test,
                         testing::Values(Format{"bf16", 8, 0x7f80, float_from_bf16,
                                                bf16_from_float},
                                         Format{"f16", 5, 0x7c00, float_from_f16, f16_from_float}),
                         [](const auto& format) { return format.param.name; });

}  // namespace
}  // namespace hiss
