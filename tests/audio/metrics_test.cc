// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "audio/signals.h"

namespace hiss::audio {
namespace {

using testing_support::noise;
using testing_support::tone;

constexpr int kRate = 16000;

std::vector<float> scaled(std::vector<float> x, float factor) {
  for (float& v : x) v *= factor;
  return x;
}

// Constant 1, plus `amplitude` of alternating sign: orthogonal to it.
std::vector<float> with_error(int64_t n, float amplitude) {
  std::vector<float> x(n, 1.0f);
  for (int64_t i = 0; i < n; ++i) x[i] += i % 2 ? amplitude : -amplitude;
  return x;
}

TEST(SiSdr, ByHand) {
  const std::vector<float> ones(1000, 1.0f);
  EXPECT_NEAR(*si_sdr_db(ones, with_error(1000, 0.1f)), 20, 1e-5);
  EXPECT_NEAR(*si_sdr_db(ones, with_error(1000, 1.0f)), 0, 1e-9);
  EXPECT_NEAR(*si_sdr_db(ones, scaled(with_error(1000, 0.1f), -7.0f)), 20, 1e-5);
  // Half of a reference that is itself two orthogonal halves: |a s|^2 = |s' - a s|^2.
  std::vector<float> half(ones);
  std::fill(half.begin() + 500, half.end(), 0.0f);
  EXPECT_NEAR(*si_sdr_db(ones, half), 0, 1e-9);
}

TEST(SiSdr, IsLimitedWhereThereIsNoErrorOrNoSignal) {
  const auto x = noise(1000);
  EXPECT_EQ(*si_sdr_db(x, x), 200);
  EXPECT_EQ(*si_sdr_db(x, scaled(x, 2.0f)), 200);
  EXPECT_EQ(*si_sdr_db(x, std::vector<float>(1000)), -200);
}

TEST(SegmentalSnr, ByHand) {
  const auto x = noise(kRate);
  EXPECT_NEAR(*segmental_snr_db(x, scaled(x, 0.9f), kRate), 20, 1e-4);
  EXPECT_NEAR(*segmental_snr_db(x, std::vector<float>(kRate), kRate), 0, 1e-9);
  EXPECT_EQ(*segmental_snr_db(x, x, kRate), 35);
  EXPECT_EQ(*segmental_snr_db(x, scaled(x, -9.0f), kRate), -10);
}

TEST(SegmentalSnr, AveragesSegmentsAndLeavesOutSilentOnes) {
  // 480-sample segments every 120: of 1440 samples, 9. The first two thirds are silent, so the
  // segments from 600 on see signal: 600 ... 960, four of them.
  std::vector<float> x(1440), y(1440, 0.5f);
  std::fill(x.begin() + 960, x.end(), 1.0f);
  const double at[] = {10 * std::log10(120 / (360 * 0.25 + 120 * 0.25)),
                       10 * std::log10(240 / (240 * 0.25 + 240 * 0.25)),
                       10 * std::log10(360 / (120 * 0.25 + 360 * 0.25)), 10 * std::log10(4.0)};
  EXPECT_NEAR(*segmental_snr_db(x, y, kRate), (at[0] + at[1] + at[2] + at[3]) / 4, 1e-6);
}

TEST(SegmentalSnr, AShortSignalIsOneSegment) {
  EXPECT_NEAR(*segmental_snr_db(std::vector<float>(10, 1.0f), std::vector<float>(10, 0.9f), kRate),
              20, 1e-4);
}

TEST(LogSpectralDistance, OfAScaledSignalIsTheScaleInDecibels) {
  const auto x = noise(kRate);
  EXPECT_NEAR(*log_spectral_distance_db(x, scaled(x, 0.5f), kRate), 20 * std::log10(2), 1e-4);
  EXPECT_EQ(*log_spectral_distance_db(x, x, kRate), 0);
}

TEST(LogSpectralDistance, SilenceIsFlooredAt160DecibelsBelowASine) {
  // One frame of an impulse: every bin has the window's value there, 2 * 2 / 512 of full scale.
  std::vector<float> x(512);
  x[256] = 1.0f;
  EXPECT_NEAR(*log_spectral_distance_db(x, std::vector<float>(512), kRate),
              20 * std::log10(4.0 / 512) + 160, 1e-6);
}

TEST(LogSpectralDistance, QuietFramesOfTheReferenceDoNotCount) {
  auto x = noise(2 * kRate), y = x;
  for (int i = kRate; i < 2 * kRate; ++i) {
    x[i] *= 1e-3f;  // 60 dB down
    y[i] = 100.0f * x[i];
  }
  EXPECT_LT(*log_spectral_distance_db(x, y, kRate), 1);
  EXPECT_GT(*log_spectral_distance_db(y, x, kRate), 15);
}

TEST(Metrics, RefuseWhatHasNoAnswer) {
  const auto x = noise(1000), silence = std::vector<float>(1000);
  auto damaged = x;
  damaged[500] = NAN;
  const auto refused = [](const std::vector<float>& s, const std::vector<float>& y,
                          const char* text) {
    for (const auto& result :
         {si_sdr_db(s, y), segmental_snr_db(s, y, kRate), log_spectral_distance_db(s, y, kRate)}) {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(result.error().message(), testing::HasSubstr(text));
    }
  };
  refused(x, noise(999), "999 samples");
  refused(silence, x, "no signal");
  refused({}, {}, "no signal");
  refused(x, damaged, "not finite");
  refused(damaged, x, "not finite");
}

}  // namespace
}  // namespace hiss::audio
