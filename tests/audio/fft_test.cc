// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "audio/signals.h"

namespace hiss::audio {
namespace {

using testing_support::noise;

std::vector<std::complex<double>> by_definition(const std::vector<double>& x) {
  const int64_t n = static_cast<int64_t>(x.size());
  std::vector<std::complex<double>> bins(n / 2 + 1);
  for (int64_t k = 0; k <= n / 2; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      const double turns = static_cast<double>(i * k % n) / static_cast<double>(n);
      bins[k] += x[i] * std::polar(1.0, -2 * std::numbers::pi * turns);
    }
  }
  return bins;
}

class RealFftTest : public testing::TestWithParam<int64_t> {};

TEST_P(RealFftTest, IsTheTransformByItsDefinition) {
  const int64_t n = GetParam();
  const auto samples = noise(n, 1.0f);
  const std::vector<double> x(samples.begin(), samples.end());
  RealFft fft(n);
  ASSERT_EQ(fft.size(), n);
  ASSERT_EQ(fft.bins(), n / 2 + 1);
  std::vector<std::complex<double>> bins(fft.bins());
  const auto want = by_definition(x);
  for (int again = 0; again < 2; ++again) {  // leftovers of the first call must not matter
    fft.forward(x.data(), bins.data());
    for (int64_t k = 0; k < fft.bins(); ++k) {
      ASSERT_NEAR(std::abs(bins[k] - want[k]), 0, 1e-12 * std::sqrt(n) * 3) << "bin " << k;
    }
    EXPECT_EQ(bins.front().imag(), 0);
    EXPECT_EQ(bins.back().imag(), 0);
    std::vector<double> back(n);
    fft.inverse(bins.data(), back.data());
    for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(back[i], x[i], 1e-13) << "sample " << i;
  }
}

// Powers of two, RE-USE's frames, a largest prime factor just below, at and above the change of
// algorithm, primes far above it.
INSTANTIATE_TEST_SUITE_P(Sizes, RealFftTest,
                         testing::Values(2, 4, 6, 8, 10, 160, 320, 442, 640, 882, 1764, 1920,
                                         2 * 59, 2 * 61, 2 * 67, 4 * 61, 6 * 67, 2 * 1009,
                                         2 * 37 * 41, 2 * 1913));

TEST(RealFft, InverseIgnoresTheImaginaryPartsOfTheEnds) {
  RealFft fft(8);
  std::vector<std::complex<double>> bins = {{1, 5}, 2, {0, 3}, 4, {6, -7}};
  std::vector<double> with(8), without(8);
  fft.inverse(bins.data(), with.data());
  bins.front() = 1;
  bins.back() = 6;
  fft.inverse(bins.data(), without.data());
  EXPECT_EQ(with, without);
}

}  // namespace
}  // namespace hiss::audio
