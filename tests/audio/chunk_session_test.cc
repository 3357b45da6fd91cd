// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/chunk_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "audio/signals.h"

namespace hiss::audio {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::largest_difference;
using testing_support::noise;

Status pass(int64_t, int64_t, float*) { return {}; }

// Feeds `input` in blocks of `block` frames and returns what comes out.
std::vector<float> run(const ChunkOptions& options, ChunkSession::WindowFunction function,
                       std::span<const float> input, int64_t block = 1 << 20) {
  ChunkSession session(options, std::move(function));
  std::vector<float> output;
  const auto sink = [&](std::span<const float> frames) {
    EXPECT_LE(static_cast<int64_t>(frames.size()), options.window * options.channels);
    EXPECT_GE(frames.size(), 1u);
    output.insert(output.end(), frames.begin(), frames.end());
    return Status();
  };
  while (!input.empty()) {
    const size_t size = std::min<size_t>(block * options.channels, input.size());
    EXPECT_TRUE(session.process(input.first(size), sink).ok());
    input = input.subspan(size);
  }
  EXPECT_TRUE(session.finish(sink).ok());
  return output;
}

std::vector<int64_t> window_lengths(const ChunkOptions& options, int64_t frames) {
  std::vector<int64_t> lengths;
  const auto function = [&](int64_t, int64_t n, float*) {
    lengths.push_back(n);
    return Status();
  };
  EXPECT_EQ(run(options, function, noise(frames)).size(), static_cast<size_t>(frames));
  return lengths;
}

TEST(ChunkOptions, AreCountedInSamples) {
  const auto options = ChunkOptions::from_seconds(48000, 2, 5.0, 0.05, 0.5);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->window, 240000);
  EXPECT_EQ(options->overlap, 12000);
  EXPECT_EQ(options->channels, 2);
  EXPECT_EQ(options->strength, 0.5);
  EXPECT_EQ(ChunkOptions::from_seconds(4001, 1, 0.001, 0.5, 1)->window, 4);
}

TEST(ChunkOptions, OutOfRangeAreRefusedByName) {
  const auto refused = [](double seconds, double overlap, double strength, int channels,
                          const char* name) {
    const auto options = ChunkOptions::from_seconds(8000, channels, seconds, overlap, strength);
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(options.error().message(), testing::HasSubstr(name));
  };
  for (const double bad : {0.0, -1.0, 1e-5, 1e300, double{NAN}, double{INFINITY}}) {
    refused(bad, 0.05, 1, 1, "chunk_seconds");
  }
  for (const double bad : {-0.01, 0.51, double{NAN}}) refused(5, bad, 1, 1, "overlap");
  for (const double bad : {-0.01, 1.01, double{NAN}}) refused(5, 0.05, bad, 1, "strength");
  refused(5, 0.05, 1, 0, "channels");
}

TEST(ChunkSession, WindowsDependOnTheLengthAlone) {
  const ChunkOptions overlapping{.window = 100, .overlap = 5};
  EXPECT_THAT(window_lengths(overlapping, 0), IsEmpty());
  EXPECT_THAT(window_lengths(overlapping, 1), ElementsAre(1));
  EXPECT_THAT(window_lengths(overlapping, 99), ElementsAre(99));
  EXPECT_THAT(window_lengths(overlapping, 100), ElementsAre(100, 5));
  EXPECT_THAT(window_lengths(overlapping, 101), ElementsAre(100, 6));
  EXPECT_THAT(window_lengths(overlapping, 195), ElementsAre(100, 100, 5));
  const ChunkOptions apart{.window = 100, .overlap = 0};
  EXPECT_THAT(window_lengths(apart, 100), ElementsAre(100));
  EXPECT_THAT(window_lengths(apart, 101), ElementsAre(100, 1));
  EXPECT_THAT(window_lengths(apart, 200), ElementsAre(100, 100));
  EXPECT_THAT(window_lengths({.window = 1, .overlap = 0}, 3), ElementsAre(1, 1, 1));
}

TEST(ChunkSession, CrossFadesWithSquaredSines) {
  int calls = 0;
  const auto numbered = [&](int64_t, int64_t n, float* x) {
    std::fill_n(x, n, static_cast<float>(++calls));
    return Status();
  };
  // Windows at 0 (8 frames) and 4 (6 frames); V = 4, the joint is frames 4 ... 7.
  const auto y = run({.window = 8, .overlap = 4}, numbered, std::vector<float>(10, 1.0f));
  const double a = std::pow(std::sin(M_PI / 8), 2), b = 0.5, c = 1 - a;
  EXPECT_EQ(calls, 2);
  ASSERT_EQ(y.size(), 10u);
  const double want[] = {1, 1, 1, 1, 1, 1 + a, 1 + b, 1 + c, 2, 2};
  for (int i = 0; i < 10; ++i) EXPECT_NEAR(y[i], want[i], 1e-6) << i;
}

TEST(ChunkSession, DividesByTheWeightsWhenTheLastWindowIsShort) {
  int calls = 0;
  const auto numbered = [&](int64_t, int64_t n, float* x) {
    std::fill_n(x, n, static_cast<float>(++calls));
    return Status();
  };
  // The second window is frames 4 ... 7: it fades in over 3, the first one out over 4.
  const auto y = run({.window = 8, .overlap = 4}, numbered, std::vector<float>(8, 1.0f));
  ASSERT_EQ(y.size(), 8u);
  for (int i = 0; i < 4; ++i) {
    const double in = std::pow(std::sin(M_PI / 2 * i / 3), 2);
    const double out = std::pow(std::cos(M_PI / 2 * i / 4), 2);
    EXPECT_NEAR(y[4 + i], (out + 2 * in) / (out + in), 1e-6) << i;
  }
}

TEST(ChunkSession, GivesBackWhatPassesThroughHoweverItIsCut) {
  for (const int64_t overlap : {0, 1, 7, 25, 50}) {
    const ChunkOptions options{.channels = 2, .window = 100, .overlap = overlap};
    for (const int64_t frames : {0, 1, 2, 49, 50, 51, 99, 100, 101, 199, 200, 201, 1234}) {
      const auto x = noise(2 * frames);
      const auto whole = run(options, pass, x);
      EXPECT_LE(largest_difference(whole, x), 1e-7) << overlap << " " << frames;
      for (const int64_t block : {1, 3, 97, 100, 101}) {
        ASSERT_EQ(run(options, pass, x, block), whole) << overlap << " " << frames << " " << block;
      }
    }
  }
}

TEST(ChunkSession, StrengthZeroGivesTheInputToTheBitWithoutComputing) {
  auto x = noise(321);
  x[5] = std::numeric_limits<float>::denorm_min();
  x[6] = -0.0f;
  const auto never = [](int64_t, int64_t, float*) { return Internal("computed"); };
  const auto y = run({.window = 100, .overlap = 30, .strength = 0}, never, x);
  ASSERT_EQ(y.size(), x.size());
  EXPECT_EQ(std::memcmp(y.data(), x.data(), x.size() * sizeof(float)), 0);
}

TEST(ChunkSession, StrengthMixesInputAndResult) {
  const auto zero = [](int64_t batch, int64_t n, float* x) {
    std::fill_n(x, batch * n, 0.0f);
    return Status();
  };
  const auto x = noise(321);
  const auto y = run({.window = 100, .overlap = 30, .strength = 0.25}, zero, x);
  ASSERT_EQ(y.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_FLOAT_EQ(y[i], 0.75f * x[i]);
}

TEST(ChunkSession, NotANumberAndInfinityCountAsZeroAndAreCounted) {
  auto x = noise(300), want = x;
  for (const int i : {0, 50, 99, 299}) want[i] = 0;
  x[0] = NAN;
  x[50] = INFINITY;
  x[99] = -INFINITY;
  x[299] = NAN;
  for (const double strength : {0.0, 0.5, 1.0}) {
    ChunkSession session({.window = 100, .overlap = 10, .strength = strength}, pass);
    std::vector<float> y;
    const auto sink = [&](std::span<const float> frames) {
      y.insert(y.end(), frames.begin(), frames.end());
      return Status();
    };
    ASSERT_TRUE(session.process(x, sink).ok());
    ASSERT_TRUE(session.finish(sink).ok());
    EXPECT_LE(largest_difference(y, want), 1e-7);
    EXPECT_EQ(session.replaced_samples(), 4);
  }
}

TEST(ChunkSession, SubnormalSamplesReachTheWindowsAsZero) {
  const std::vector<float> x = {1e-40f, -1e-40f, std::numeric_limits<float>::min(), 1.0f};
  const auto check = [&](int64_t, int64_t n, float* w) {
    EXPECT_THAT(std::vector<float>(w, w + n), ElementsAre(0.0f, 0.0f, x[2], 1.0f));
    return Status();
  };
  run({.window = 100, .overlap = 10}, check, x);
}

TEST(ChunkSession, SilentWindowsGiveSilenceWithoutBeingComputed) {
  const auto never = [](int64_t, int64_t, float*) { return Internal("computed"); };
  const std::vector<float> silence(333);
  EXPECT_EQ(run({.window = 100, .overlap = 10}, never, silence), silence);
}

// Depends on the whole window, so that mixing items up shows.
Status shape(int64_t batch, int64_t n, float* x) {
  for (int64_t b = 0; b < batch; ++b, x += n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(x[i] * sum);
  }
  return {};
}

TEST(ChunkSession, ChannelsAreTheirOwnMonoRunsAndEqualOnesAreComputedOnce) {
  const ChunkOptions mono{.window = 100, .overlap = 10};
  ChunkOptions five = mono;
  five.channels = 5;
  const auto a = noise(345, 0.5f, 1), b = noise(345, 0.5f, 2);
  const std::vector<float> silence(345);
  const std::vector<float> channels[] = {a, b, silence, a, b};
  std::vector<float> x;
  for (int i = 0; i < 345; ++i) {
    for (const auto& channel : channels) x.push_back(channel[i]);
  }
  std::vector<int64_t> batches;
  const auto counting = [&](int64_t batch, int64_t n, float* w) {
    batches.push_back(batch);
    return shape(batch, n, w);
  };
  const auto y = run(five, counting, x);
  EXPECT_THAT(batches, testing::Each(2));
  for (int c = 0; c < 5; ++c) {
    std::vector<float> channel;
    for (int i = 0; i < 345; ++i) channel.push_back(y[5 * i + c]);
    EXPECT_EQ(channel, run(mono, shape, channels[c])) << "channel " << c;
  }
}

TEST(ChunkSession, DelayIsTheLongestWaitOfAFrame) {
  for (const int64_t overlap : {0, 3, 10}) {
    ChunkSession session({.window = 20, .overlap = overlap}, pass);
    int64_t fed = 0, emitted = 0, longest = 0;
    const auto sink = [&](std::span<const float> frames) {
      longest = std::max(longest, fed - emitted);
      emitted += static_cast<int64_t>(frames.size());
      return Status();
    };
    for (; fed < 500; ++fed) ASSERT_TRUE(session.process(std::vector<float>{0.5f}, sink).ok());
    EXPECT_EQ(longest, session.delay()) << overlap;
  }
}

TEST(ChunkSession, PassesErrorsOnAndIsSpentAfterwards) {
  const auto accept = [](std::span<const float>) { return Status(); };
  const auto full = [](std::span<const float>) { return ResourceExhausted("disk full"); };
  const auto fails = [](int64_t, int64_t, float*) { return Internal("no network"); };

  ChunkSession broken({.window = 10, .overlap = 1}, fails);
  EXPECT_EQ(broken.process(noise(10), accept).message(), "no network");
  EXPECT_EQ(broken.process(noise(10), accept).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(broken.finish(accept).code(), StatusCode::kInvalidArgument);

  ChunkSession blocked({.window = 10, .overlap = 1}, pass);
  EXPECT_EQ(blocked.process(noise(10), full).code(), StatusCode::kResourceExhausted);

  ChunkSession finished({.window = 10, .overlap = 1}, pass);
  EXPECT_TRUE(finished.finish(accept).ok());
  EXPECT_EQ(finished.finish(accept).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(finished.process({}, accept).code(), StatusCode::kInvalidArgument);
}

TEST(ChunkSession, RefusesHalfAFrame) {
  ChunkSession session({.channels = 2, .window = 10, .overlap = 1}, pass);
  const Status status = session.process(noise(3), [](std::span<const float>) { return Status(); });
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::HasSubstr("whole frames"));
}

}  // namespace
}  // namespace hiss::audio
