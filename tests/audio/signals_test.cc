// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/signals.h"

#include <gtest/gtest.h>

namespace hiss::testing_support {
namespace {

TEST(Signals, ComparatorsRejectWhatDiffers) {
  const std::vector<float> a = {1, 2, 3}, sign = {1, -2, 3}, nan = {1, NAN, 3},
                           inf = {1, 2, INFINITY};
  EXPECT_EQ(largest_difference(a, a), 0);
  EXPECT_EQ(relative_rms(a, a), 0);
  EXPECT_EQ(largest_difference(sign, a), 4);
  EXPECT_NEAR(relative_rms(sign, a), 4 / std::sqrt(14.0), 1e-12);
  EXPECT_EQ(relative_rms(std::vector<float>(3), a), 1);
  for (const auto& bad : {nan, inf, std::vector<float>{1, 2}}) {
    EXPECT_EQ(largest_difference(bad, a), INFINITY);
    EXPECT_EQ(relative_rms(bad, a), INFINITY);
  }
}

TEST(Signals, NoiseIsWithinItsAmplitudeAndRepeats) {
  const auto x = noise(10000, 0.25f);
  EXPECT_EQ(x, noise(10000, 0.25f));
  EXPECT_NE(x, noise(10000, 0.25f, 2));
  EXPECT_LE(std::ranges::max(x), 0.25f);
  EXPECT_GE(std::ranges::min(x), -0.25f);
  EXPECT_GT(std::ranges::max(x), 0.24f);
}

}  // namespace
}  // namespace hiss::testing_support
