// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/stft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "audio/signals.h"

namespace hiss::audio {
namespace {

using testing_support::noise;
using testing_support::relative_rms;
using testing_support::tone;

constexpr int kRates[] = {4000,  4001,  8000,  11025, 12000, 16000, 22050,
                          24000, 32000, 44100, 44101, 48000, 96000, 192000};

Stft stft_at(int rate) {
  Result<Stft> stft = Stft::create(StftSizes::scaled({}, 8000, rate));
  EXPECT_TRUE(stft) << stft.error().to_string();
  return *std::move(stft);
}

struct Spectrum {
  std::vector<float> log_magnitude, phase;
};

Spectrum analyse(Stft& stft, const std::vector<float>& x, Executor& executor = serial_executor()) {
  const int64_t n = static_cast<int64_t>(x.size()), cells = stft.frames(n) * stft.bins();
  Spectrum s{std::vector<float>(cells, NAN), std::vector<float>(cells, NAN)};
  stft.analyse(1, n, x.data(), s.log_magnitude.data(), s.phase.data(), executor);
  return s;
}

std::vector<float> synthesise(Stft& stft, const Spectrum& s, int64_t n,
                              Executor& executor = serial_executor()) {
  std::vector<float> x(n, NAN);
  const Status status =
      stft.synthesise(1, n, s.log_magnitude.data(), s.phase.data(), x.data(), executor);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return x;
}

TEST(StftSizes, ScaleWithTheRate) {
  const auto at = [](int rate) {
    const StftSizes s = StftSizes::scaled({}, 8000, rate);
    return std::vector<int64_t>{s.n_fft, s.hop, s.win, stft_at(rate).bins()};
  };
  using testing::ElementsAre;
  EXPECT_THAT(at(8000), ElementsAre(320, 40, 320, 161));
  EXPECT_THAT(at(11025), ElementsAre(442, 56, 442, 222));
  EXPECT_THAT(at(22050), ElementsAre(882, 110, 882, 442));
  EXPECT_THAT(at(44100), ElementsAre(1764, 220, 1764, 883));
  EXPECT_THAT(at(48000), ElementsAre(1920, 240, 1920, 961));
  EXPECT_THAT(at(192000), ElementsAre(7680, 960, 7680, 3841));
  EXPECT_EQ(StftSizes::scaled({}, 8000, 1).hop, 2);
}

TEST(Stft, RefusesSizesItCannotInvert) {
  for (const StftSizes& bad : {StftSizes{320, 0, 320}, StftSizes{320, 161, 320},
                               StftSizes{320, 40, 322}, StftSizes{321, 40, 320}}) {
    const Result<Stft> stft = Stft::create(bad);
    ASSERT_FALSE(stft);
    EXPECT_EQ(stft.error().code(), StatusCode::kInvalidArgument);
  }
}

TEST(Stft, FramesCoverEachHopOnce) {
  const Stft stft = stft_at(16000);
  EXPECT_EQ(stft.frames(0), 0);
  EXPECT_EQ(stft.frames(1), 1);
  EXPECT_EQ(stft.frames(79), 1);
  EXPECT_EQ(stft.frames(80), 2);
  EXPECT_EQ(stft.frames(80000), 1001);
}

TEST(Stft, GivesTheSpectrumByItsDefinition) {
  Stft stft = stft_at(8000);
  const int64_t n = 500, n_fft = 320, hop = 40;
  const auto x = noise(n);
  const Spectrum s = analyse(stft, x);
  for (const int64_t t : {0, 3, 12}) {
    for (const int64_t f : {0, 1, 77, 160}) {
      std::complex<double> sum = 0;
      for (int64_t i = 0; i < n_fft; ++i) {
        int64_t at = t * hop + i - n_fft / 2;
        if (at < 0) at = -at;
        if (at >= n) at = 2 * (n - 1) - at;
        const double turns = static_cast<double>(i) / n_fft;
        const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * turns);
        sum += hann * x[at] * std::polar(1.0, -2 * std::numbers::pi * turns * f);
      }
      const int64_t cell = t * 161 + f;
      EXPECT_NEAR(s.log_magnitude[cell], std::log1p(std::abs(sum)), 1e-6) << t << " " << f;
      const std::complex<double> got = std::polar<double>(std::abs(sum), s.phase[cell]);
      EXPECT_NEAR(std::abs(got - sum), 0, 3e-6 * (1 + std::abs(sum))) << t << " " << f;
    }
  }
}

TEST(Stft, SymmetricFramesAndSpectrumEndsHavePhaseZeroOrPlusPi) {
  for (const int rate : {8000, 22050, 48000}) {
    Stft stft = stft_at(rate);
    const Spectrum s = analyse(stft, noise(rate / 4));
    const auto is_snapped = [](float p) {
      return (p == 0.0f && !std::signbit(p)) || p == std::numbers::pi_v<float>;
    };
    for (int64_t f = 0; f < stft.bins(); ++f) {
      ASSERT_PRED1(is_snapped, s.phase[f]) << rate << " first frame, bin " << f;
    }
    for (int64_t t = 0; t < stft.frames(rate / 4); ++t) {
      ASSERT_PRED1(is_snapped, s.phase[t * stft.bins()]) << rate << " frame " << t;
      ASSERT_PRED1(is_snapped, s.phase[(t + 1) * stft.bins() - 1]) << rate << " frame " << t;
    }
  }
}

TEST(Stft, RoundTripIsBelowMinus125Decibels) {
  for (const int rate : kRates) {
    Stft stft = stft_at(rate);
    const auto x = noise(rate / 5 + 37);
    const auto y = synthesise(stft, analyse(stft, x), static_cast<int64_t>(x.size()));
    const double decibels = 20 * std::log10(relative_rms(y, x));
    RecordProperty("round_trip_db_" + std::to_string(rate), std::to_string(decibels));
    EXPECT_LT(decibels, -125) << rate;
  }
}

TEST(Stft, RoundTripWorksForEveryLengthAroundHalfAFrame) {
  Stft stft = stft_at(8000);
  for (int64_t n = 1; n <= 330; ++n) {
    const auto x = noise(n, 0.5f, static_cast<uint32_t>(n));
    const auto y = synthesise(stft, analyse(stft, x), n);
    ASSERT_LT(testing_support::largest_difference(y, x), 1e-6) << n << " samples";
  }
}

TEST(Stft, DoesNotDependOnThreadsOrBatch) {
  const auto pool = make_thread_pool(3);
  Stft stft = stft_at(11025);
  const int64_t n = 12345, cells = stft.frames(n) * stft.bins();
  const auto a = noise(n, 0.5f, 1), b = noise(n, 0.5f, 2);
  std::vector<float> both(a);
  both.insert(both.end(), b.begin(), b.end());
  std::vector<float> magnitude(2 * cells), phase(2 * cells), out(2 * n);
  stft.analyse(2, n, both.data(), magnitude.data(), phase.data(), *pool);
  const Spectrum alone = analyse(stft, b);
  EXPECT_EQ(alone.log_magnitude, std::vector<float>(magnitude.begin() + cells, magnitude.end()));
  EXPECT_EQ(alone.phase, std::vector<float>(phase.begin() + cells, phase.end()));
  ASSERT_TRUE(stft.synthesise(2, n, magnitude.data(), phase.data(), out.data(), *pool).ok());
  EXPECT_EQ(synthesise(stft, alone, n), std::vector<float>(out.begin() + n, out.end()));
}

TEST(Stft, SilenceStaysSilence) {
  Stft stft = stft_at(16000);
  const std::vector<float> silence(5000);
  const Spectrum s = analyse(stft, silence);
  EXPECT_THAT(s.log_magnitude, testing::Each(0.0f));
  EXPECT_THAT(s.phase, testing::Each(0.0f));
  EXPECT_EQ(synthesise(stft, s, 5000), silence);
}

TEST(Stft, NegativeZerosHavePhasePlusZero) {
  Stft stft = stft_at(16000);
  for (const float p : analyse(stft, std::vector<float>(1000, -0.0f)).phase) {
    ASSERT_TRUE(p == 0.0f && !std::signbit(p)) << p;
  }
}

TEST(Stft, SweepFilterSilencesFramesThatAreZeroInMoreThanHalfOfTheirBins) {
  Stft stft = stft_at(8000);  // 161 bins
  const int64_t n = 39;       // one frame
  const auto peak_with_zeros = [&](int64_t zeros) {
    Spectrum s{std::vector<float>(161, 1.0f), std::vector<float>(161, 0.0f)};
    for (int64_t f = 0; f < zeros; ++f) s.log_magnitude[f] = f % 2 ? 0.0f : -1.0f;
    const auto x = synthesise(stft, s, n);
    return std::ranges::max(x, {}, [](float v) { return std::abs(v); });
  };
  EXPECT_NE(peak_with_zeros(80), 0.0f);
  EXPECT_EQ(peak_with_zeros(81), 0.0f);
}

TEST(Stft, SweepFilterWithAnEvenNumberOfBinsNeedsMoreThanHalf) {
  Stft stft = stft_at(22050);  // 442 bins
  const auto peak_with_zeros = [&](int64_t zeros) {
    Spectrum s{std::vector<float>(442, 1.0f), std::vector<float>(442, 0.0f)};
    std::fill_n(s.log_magnitude.begin(), zeros, 0.0f);
    const auto x = synthesise(stft, s, 100);
    return std::ranges::max(x, {}, [](float v) { return std::abs(v); });
  };
  EXPECT_NE(peak_with_zeros(221), 0.0f);
  EXPECT_EQ(peak_with_zeros(222), 0.0f);
}

TEST(Stft, SweepFilterLooksAtEachItemAlone) {
  Stft stft = stft_at(8000);
  const int64_t n = 1000, cells = stft.frames(n) * stft.bins();
  const auto x = noise(n);
  const Spectrum s = analyse(stft, x);
  std::vector<float> magnitude(cells), phase(s.phase), out(2 * n);
  magnitude.insert(magnitude.end(), s.log_magnitude.begin(), s.log_magnitude.end());
  phase.insert(phase.end(), s.phase.begin(), s.phase.end());
  ASSERT_TRUE(
      stft.synthesise(2, n, magnitude.data(), phase.data(), out.data(), serial_executor()).ok());
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + n), std::vector<float>(n));
  EXPECT_EQ(std::vector<float>(out.begin() + n, out.end()), synthesise(stft, s, n));
}

TEST(Stft, RefusesASpectrumThatIsNotFinite) {
  Stft stft = stft_at(8000);
  const Spectrum good = analyse(stft, noise(1000));
  std::vector<float> x(1000);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    for (const bool in_phase : {false, true}) {
      Spectrum s = good;
      (in_phase ? s.phase : s.log_magnitude)[700] = bad;
      const Status status = stft.synthesise(1, 1000, s.log_magnitude.data(), s.phase.data(),
                                            x.data(), serial_executor());
      EXPECT_EQ(status.code(), StatusCode::kInternal);
      EXPECT_THAT(status.message(), testing::HasSubstr("not finite"));
    }
  }
}

TEST(Stft, LimitsWhatFloatCannotHold) {
  Stft stft = stft_at(8000);
  const int64_t cells = stft.frames(1000) * stft.bins();
  const Spectrum s{std::vector<float>(cells, 1e30f), std::vector<float>(cells, 0.3f)};
  const auto x = synthesise(stft, s, 1000);
  for (const float v : x) ASSERT_TRUE(std::isfinite(v));
  EXPECT_EQ(std::ranges::max(x), std::numeric_limits<float>::max());
}

TEST(Stft, TakesTheLargestFiniteInput) {
  Stft stft = stft_at(8000);
  auto x = tone(1000, 0.1);
  for (float& v : x) v *= std::numeric_limits<float>::max();
  const Spectrum s = analyse(stft, x);
  for (const float v : s.log_magnitude) ASSERT_TRUE(std::isfinite(v));
  EXPECT_LT(relative_rms(synthesise(stft, s, 1000), x), 1e-4);
}

}  // namespace
}  // namespace hiss::audio
