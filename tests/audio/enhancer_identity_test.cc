// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The whole way through sessions, with a network that changes nothing: what comes out is what went
// in, at every rate, for every length, however the stream is cut.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "audio/pass_through.h"
#include "audio/signals.h"
#include "hiss/enhancer.h"

namespace hiss {
namespace {

using testing_support::enhance;
using testing_support::largest_difference;
using testing_support::noise;
using testing_support::pass_through_enhancer;
using testing_support::PassThrough;
using testing_support::tone;

constexpr double kChunkSeconds = 0.05;  // ten frames
constexpr double kWithin = 1e-6;

class IdentityTest : public testing::TestWithParam<int> {
 protected:
  int rate() const { return GetParam(); }
  int64_t hop() const { return 2 * ((40 * rate() / 8000 + 1) / 2); }
  int64_t half_frame() const { return (320 * rate() / 8000 + 1) / 2; }
  int64_t chunk() const { return static_cast<int64_t>(kChunkSeconds * rate()); }
  // 0, 1, 2, and one below, at and one above everything that lengths are compared with.
  std::vector<int64_t> lengths() const {
    std::vector<int64_t> result = {0, 1, 2};
    const int64_t stride = chunk() - chunk() / 20;
    for (const int64_t at : {hop(), half_frame(), 2 * half_frame(), 7 * hop(), stride, chunk(),
                             chunk() + half_frame(), 2 * stride, 2 * chunk()}) {
      for (const int64_t n : {at - 1, at, at + 1}) result.push_back(n);
    }
    return result;
  }
};

TEST_P(IdentityTest, EveryLengthComesBackHoweverItIsCut) {
  const auto enhancer = pass_through_enhancer({.chunk_seconds = kChunkSeconds});
  std::mt19937 random(1);
  for (const int64_t n : lengths()) {
    const auto x = noise(n, 0.5f, static_cast<uint32_t>(n));
    const auto whole = enhance(*enhancer, rate(), 1, x, [&] { return n; });
    ASSERT_LE(largest_difference(whole, x), kWithin) << n << " samples";
    const auto cut = enhance(*enhancer, rate(), 1, x, [&] { return random() % chunk(); });
    ASSERT_EQ(cut, whole) << n << " samples, cut at random";
  }
}

TEST_P(IdentityTest, BlocksOfOneAndOfPrimesGiveTheSameBits) {
  const auto enhancer = pass_through_enhancer({.chunk_seconds = kChunkSeconds});
  const int64_t n = 2 * chunk() + half_frame() + 1;
  const auto x = noise(n);
  const auto whole = enhance(*enhancer, rate(), 1, x, [&] { return n; });
  for (const int64_t block : {1, 7, 997}) {
    ASSERT_EQ(enhance(*enhancer, rate(), 1, x, [&] { return block; }), whole) << block;
  }
}

TEST_P(IdentityTest, AnyOverlapComesBack) {
  for (const double overlap : {0.0, 0.25, 0.5}) {
    const auto enhancer =
        pass_through_enhancer({.chunk_seconds = kChunkSeconds, .overlap = overlap});
    const int64_t n = 3 * chunk() + 11;
    const auto x = noise(n, 1.0f);
    const auto y = enhance(*enhancer, rate(), 1, x, [&] { return n; });
    EXPECT_LE(largest_difference(y, x), kWithin) << overlap;
  }
}

TEST_P(IdentityTest, FullScaleSteadyAndAlternatingSamplesComeBack) {
  const auto enhancer = pass_through_enhancer({.chunk_seconds = kChunkSeconds});
  const int64_t n = 2 * chunk();
  std::vector<float> steady(n, 1.0f), alternating(n, 1.0f);
  for (int64_t i = 0; i < n; i += 2) alternating[i] = -1.0f;
  for (const auto& x : {steady, alternating}) {
    const auto y = enhance(*enhancer, rate(), 1, x, [&] { return n; });
    EXPECT_LE(largest_difference(y, x), 3 * kWithin);
  }
}

// What the snapped-phase rule costs: bins 120 dB below their frame's largest lose their phase. In
// noise and speech those carry nothing; of a lone tone they carry the far skirts of its line, which
// then add up to a click under -60 dB.
TEST_P(IdentityTest, FullScaleTonesComeBackUpToThePhaseRule) {
  const auto enhancer = pass_through_enhancer({.chunk_seconds = kChunkSeconds});
  const int64_t n = 2 * chunk();
  for (const double frequency : {0.01, 0.123, 0.25, 0.4999}) {
    const auto x = tone(n, frequency);
    const auto y = enhance(*enhancer, rate(), 1, x, [&] { return n; });
    EXPECT_LE(largest_difference(y, x), 1e-3) << frequency << " cycles a sample";
  }
}

INSTANTIATE_TEST_SUITE_P(Rates, IdentityTest,
                         testing::Values(4000, 4001, 8000, 11025, 12000, 16000, 22050, 24000, 32000,
                                         44100, 44101, 48000, 96000, 192000));

TEST(Identity, StereoIsTwoMonos) {
  const auto enhancer = pass_through_enhancer({.chunk_seconds = 0.05});
  const int64_t n = 2345;
  const auto left = noise(n, 0.5f, 1), right = noise(n, 0.01f, 2);
  std::vector<float> both, left_out, right_out;
  for (int64_t i = 0; i < n; ++i) both.insert(both.end(), {left[i], right[i]});
  const auto y = enhance(*enhancer, 16000, 2, both, [] { return 555; });
  for (int64_t i = 0; i < n; ++i) {
    left_out.push_back(y[2 * i]);
    right_out.push_back(y[2 * i + 1]);
  }
  EXPECT_EQ(left_out, enhance(*enhancer, 16000, 1, left, [&] { return n; }));
  EXPECT_EQ(right_out, enhance(*enhancer, 16000, 1, right, [&] { return n; }));
}

TEST(Identity, ALevelAskedForIsUndone) {
  for (const float amplitude : {1e-6f, 1e-3f, 1.0f}) {
    const auto enhancer = pass_through_enhancer({.chunk_seconds = 0.05}, {.input_rms_dbfs = -20.0});
    const auto x = noise(2000, amplitude);
    const auto y = enhance(*enhancer, 16000, 1, x, [] { return 2000; });
    EXPECT_LE(largest_difference(y, x), kWithin * amplitude) << amplitude;
  }
}

TEST(Identity, SilenceStaysSilence) {
  const auto enhancer = pass_through_enhancer({.chunk_seconds = 0.05}, {.input_rms_dbfs = -20.0});
  const std::vector<float> silence(5000);
  EXPECT_EQ(enhance(*enhancer, 16000, 1, silence, [] { return 77; }), silence);
}

TEST(Identity, DamagedSamplesNeverComeOut) {
  for (const double strength : {0.0, 0.3, 1.0}) {
    const auto enhancer = pass_through_enhancer({.chunk_seconds = 0.05, .strength = strength},
                                                {.input_rms_dbfs = -20.0});
    auto x = noise(5000);
    x[0] = x[4999] = NAN;
    x[1000] = INFINITY;
    x[1001] = -INFINITY;
    x[2000] = 1e-42f;
    x[3000] = std::numeric_limits<float>::max();
    x[3001] = -std::numeric_limits<float>::max();
    auto session = enhancer->start(16000, 1);
    ASSERT_TRUE(session);
    int64_t out = 0;
    const auto sink = [&](std::span<const float> frames) {
      for (const float v : frames) EXPECT_TRUE(std::isfinite(v));
      out += static_cast<int64_t>(frames.size());
      return Status();
    };
    ASSERT_TRUE((*session)->process(x, sink).ok());
    ASSERT_TRUE((*session)->finish(sink).ok());
    EXPECT_EQ(out, 5000);
    EXPECT_EQ((*session)->replaced_samples(), 4);
  }
}

TEST(Identity, OnlyNotANumberGivesSilence) {
  const auto enhancer = pass_through_enhancer({.chunk_seconds = 0.05});
  const std::vector<float> x(3000, NAN);
  EXPECT_EQ(enhance(*enhancer, 16000, 1, x, [] { return 3000; }), std::vector<float>(3000));
}

TEST(Identity, NoiseFarBelowAToneStaysFarBelowIt) {
  const auto enhancer = pass_through_enhancer({.chunk_seconds = 0.05});
  auto x = tone(9600, 0.1);
  const auto floor = noise(9600, 3e-5f);
  for (size_t i = 0; i < x.size(); ++i) x[i] += floor[i];
  const auto y = enhance(*enhancer, 48000, 1, x, [] { return 9600; });
  EXPECT_LE(largest_difference(y, x), 1e-4);
}

}  // namespace
}  // namespace hiss
