// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/level.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "audio/signals.h"

namespace hiss::audio {
namespace {

TEST(Level, BringsAWindowToTheLevelAsked) {
  const std::vector<float> x = {0.5f, -0.5f, 0.5f, -0.5f};
  EXPECT_DOUBLE_EQ(level_gain(x, 0), 2);
  EXPECT_DOUBLE_EQ(level_gain(x, -20), 0.2);
  auto y = testing_support::noise(1000, 0.01f);
  scale(y, level_gain(y, -20));
  EXPECT_NEAR(level_gain(y, -20), 1, 1e-6);
}

TEST(Level, DoesNotBlowUpNearSilence) {
  const double floor_gain = std::pow(10, (kSilenceDbfs - -20) / -20);  // 50 dB
  EXPECT_NEAR(level_gain(std::vector<float>(100), -20), floor_gain, 1e-9);
  EXPECT_NEAR(level_gain(std::vector<float>(100, 1e-5f), -20), floor_gain, 1e-9);
  EXPECT_LT(level_gain(std::vector<float>(100, 1e-3f), -20), floor_gain);
  EXPECT_NEAR(level_gain({}, -20), floor_gain, 1e-9);
}

TEST(Level, StaysFiniteAtTheEndsOfFloat) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const std::vector<float> loud(1000, kMax);
  EXPECT_GT(level_gain(loud, -20), 0);
  std::vector<float> x = {kMax, -kMax, 1};
  scale(x, 10);
  EXPECT_EQ(x, (std::vector<float>{kMax, -kMax, 10}));
}

}  // namespace
}  // namespace hiss::audio
