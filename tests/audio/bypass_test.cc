// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/bypass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace hiss::audio {
namespace {

constexpr BypassRule kRule{.low_db = -20, .high_db = -14, .bins = 1, .frames = 1};

std::vector<float> gains(const std::vector<float>& removed, const std::vector<float>& input,
                         int64_t frames, int64_t bins) {
  std::vector<float> gain(removed.size());
  bypass_gain(kRule, frames, bins, removed.data(), input.data(), gain.data());
  return gain;
}

float power(double db) { return static_cast<float>(std::pow(10.0, db / 10)); }

TEST(BypassGain, FallsFromOneToZeroBetweenTheLevels) {
  for (const auto& [ratio_db, want] : std::vector<std::pair<double, double>>{
           {-40, 1}, {-20, 1}, {-18.5, 0.75}, {-17, 0.5}, {-14, 0}, {0, 0}}) {
    const std::vector<float> input(3 * 4, 2.0f), removed(3 * 4, 2.0f * power(ratio_db));
    for (const float g : gains(removed, input, 3, 4)) EXPECT_NEAR(g, want, 1e-5) << ratio_db;
  }
}

TEST(BypassGain, AveragesOverTheBoxAndCountsOnlyCellsThatAre) {
  // One cell of nine was removed altogether: a mean of 1/9 in the middle, 1/4 in the corner.
  std::vector<float> removed(3 * 3, 0.0f), input(3 * 3, 1.0f);
  removed[0] = 1;
  const BypassRule rule{.low_db = -12, .high_db = -3, .bins = 1, .frames = 1};
  std::vector<float> gain(9);
  bypass_gain(rule, 3, 3, removed.data(), input.data(), gain.data());
  const auto expected = [](double r) { return (-3 - 10 * std::log10(r)) / 9; };
  EXPECT_NEAR(gain[0], expected(1.0 / 4), 1e-5);
  EXPECT_NEAR(gain[1], expected(1.0 / 6), 1e-5);
  EXPECT_NEAR(gain[4], expected(1.0 / 9), 1e-5);
  EXPECT_EQ(gain[8], 1.0f);
}

TEST(BypassGain, SilenceHasNoNan) {
  for (const float g : gains({0, 0, 0, 0}, {0, 0, 0, 0}, 2, 2)) EXPECT_EQ(g, 0.0f);
}

class BypassTest : public testing::Test {
 protected:
  BypassTest() : noisy_(4000) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.1f);
    for (float& x : noisy_) x = normal(random);
  }
  std::vector<float> output(std::vector<float> clean) {
    bypass({}, stft_, static_cast<int64_t>(clean.size()), noisy_.data(), clean.data(),
           serial_executor());
    return clean;
  }
  std::vector<float> noisy_;
  Stft stft_ = *Stft::create(StftSizes::scaled({}, 8000, 16000));
};

TEST_F(BypassTest, GivesBackWhatTheNetworkHardlyChanged) {
  std::vector<float> clean = noisy_;
  for (float& x : clean) x *= 0.97f;  // -30 dB removed everywhere
  const std::vector<float> out = output(clean);
  for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], noisy_[i], 1e-6);
}

TEST_F(BypassTest, LeavesAloneWhatTheNetworkChanged) {
  std::vector<float> clean = noisy_;
  for (float& x : clean) x *= 0.5f;  // -6 dB removed everywhere
  EXPECT_EQ(output(clean), clean);
}

TEST(StftTransform, InvertGivesTheWaveformBack) {
  Stft stft = *Stft::create(StftSizes::scaled({}, 8000, 44100));
  for (const int64_t n : {1, 300, 5000}) {
    std::vector<float> x(n), y(n);
    for (int64_t i = 0; i < n; ++i) x[i] = std::sin(0.37f * static_cast<float>(i)) + 0.2f;
    std::vector<std::complex<float>> spectrum(stft.frames(n) * stft.bins());
    stft.transform(1, n, x.data(), spectrum.data(), serial_executor());
    stft.invert(1, n, spectrum.data(), y.data(), serial_executor());
    for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], x[i], 2e-6) << n << " " << i;
  }
}

}  // namespace
}  // namespace hiss::audio
