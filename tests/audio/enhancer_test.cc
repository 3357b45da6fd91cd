// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/enhancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "audio/pass_through.h"
#include "audio/signals.h"
#include "enhancer/enhancer_impl.h"

namespace hiss {
namespace {

using models::Activations;
using models::SpectrumBatch;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::enhance;
using testing_support::noise;
using testing_support::pass_through_enhancer;

TEST(Enhancer, RefusesOptionsOutOfRange) {
  const auto refused = [](const EnhancerOptions& options, const char* name) {
    auto context = Context::create({.threads = 1});
    const auto enhancer =
        internal::make_enhancer(std::make_unique<Context>(*std::move(context)),
                                std::make_unique<testing_support::PassThrough>(), "test", options);
    ASSERT_FALSE(enhancer);
    EXPECT_EQ(enhancer.error().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(enhancer.error().message(), HasSubstr(name));
  };
  refused({.chunk_seconds = 0}, "chunk_seconds");
  refused({.chunk_seconds = NAN}, "chunk_seconds");
  refused({.overlap = 0.6}, "overlap");
  refused({.strength = 1.5}, "strength");
}

TEST(Enhancer, RefusesRatesAndChannelsOutOfRange) {
  const auto enhancer = pass_through_enhancer({});
  for (const int rate : {-1, 0, 3999, 192001}) {
    const auto session = enhancer->start(rate, 1);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(session.error().message(), HasSubstr("sample_rate: got " + std::to_string(rate)));
  }
  EXPECT_THAT(enhancer->start(16000, 0).error().message(), HasSubstr("channels"));
}

TEST(Enhancer, RefusesAWindowBelowOneSampleAtThisRate) {
  const auto enhancer = pass_through_enhancer({.chunk_seconds = 0.0001});
  EXPECT_TRUE(enhancer->start(48000, 1));
  EXPECT_EQ(enhancer->start(8000, 1).error().code(), StatusCode::kInvalidArgument);
}

TEST(Enhancer, SaysWhatIsLoaded) {
  models::ReUseConfig config;
  config.blocks = 4;
  config.channels = 32;
  const auto enhancer = pass_through_enhancer({}, config);
  EXPECT_EQ(enhancer->describe(), "test: RE-USE layout, 4 blocks, 32 channels, 12 parameters");
  EXPECT_THAT(enhancer->kernels(), ElementsAre("selective_scan/none"));
}

TEST(Enhancer, FeedsTheNetworkFramesByBins) {
  std::vector<std::vector<int64_t>> shapes;
  const auto look = [&](const SpectrumBatch& s, Activations*) {
    shapes.push_back({s.batch, s.frames, s.bins});
    return Status();
  };
  const auto enhancer = pass_through_enhancer({.chunk_seconds = 1, .overlap = 0}, {}, look);
  const auto x = noise(2 * 10000);
  enhance(*enhancer, 8000, 2, x, [] { return 10000; });
  EXPECT_THAT(shapes, ElementsAre(ElementsAre(2, 201, 161), ElementsAre(2, 51, 161)));
}

TEST(Enhancer, ManyChannelsDoNotMakeTheBatchGrowWithoutEnd) {
  int64_t channels = 0, largest = 0;
  const auto look = [&](const SpectrumBatch& s, Activations*) {
    channels += s.batch;
    largest = std::max(largest, s.batch * s.frames * s.bins);
    return Status();
  };
  const auto enhancer = pass_through_enhancer({}, {}, look);
  const auto x = noise(12 * 40000);
  enhance(*enhancer, 8000, 12, x, [] { return 1000; });
  EXPECT_EQ(channels, 2 * 12);  // the window of 5 s and the 0.25 s that it shares
  EXPECT_LE(largest, 1 << 20);
}

TEST(Enhancer, BringsEachWindowToTheLevelTheModelAsksFor) {
  std::vector<float> loudest;
  const auto look = [&](const SpectrumBatch& s, Activations*) {
    loudest.push_back(*std::max_element(s.log_magnitude, s.log_magnitude + s.frames * s.bins));
    return Status();
  };
  const auto enhancer =
      pass_through_enhancer({.chunk_seconds = 0.1, .overlap = 0}, {.input_rms_dbfs = -20.0}, look);
  for (const float amplitude : {1e-2f, 1.0f}) {
    const auto x = noise(800, amplitude);
    enhance(*enhancer, 8000, 1, x, [] { return 800; });
  }
  ASSERT_EQ(loudest.size(), 2u);
  EXPECT_NEAR(loudest[0], loudest[1], 1e-5);
}

TEST(Enhancer, GivesBackWhatTheNetworkHardlyChangedWhereTheModelAsksForIt) {
  const auto fade = [](const SpectrumBatch& s, Activations*) {  // removes -30 dB
    for (int64_t i = 0; i < s.batch * s.frames * s.bins; ++i) {
      s.log_magnitude[i] = std::log1p(0.97f * std::expm1(s.log_magnitude[i]));
    }
    return Status();
  };
  models::ReUseConfig config;
  config.input_rms_dbfs = -20.0;
  const auto x = noise(2 * 1600, 0.02f);  // two channels that differ
  const auto distance = [&] {
    const auto enhancer = pass_through_enhancer({.chunk_seconds = 1}, config, fade);
    const auto y = enhance(*enhancer, 8000, 2, x, [] { return 1600; });
    double sum = 0, power = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      sum += (y[i] - x[i]) * (y[i] - x[i]), power += x[i] * x[i];
    }
    return std::sqrt(sum / power);
  };
  EXPECT_NEAR(distance(), 0.03, 1e-3);
  config.bypass = {.low_db = -20, .high_db = -14, .bins = 3, .frames = 3};
  EXPECT_LT(distance(), 1e-6);
  config.bypass = {.low_db = -50, .high_db = -40, .bins = 3, .frames = 3};
  EXPECT_NEAR(distance(), 0.03, 1e-3);
}

TEST(Enhancer, PassesTheNetworksErrorOn) {
  const auto fail = [](const SpectrumBatch&, Activations*) {
    return ResourceExhausted("no memory for the activations");
  };
  const auto enhancer = pass_through_enhancer({}, {}, fail);
  auto session = enhancer->start(8000, 1);
  ASSERT_TRUE(session);
  const auto sink = [](std::span<const float>) { return Status(); };
  ASSERT_TRUE((*session)->process(noise(100), sink).ok());
  EXPECT_EQ((*session)->finish(sink).code(), StatusCode::kResourceExhausted);
}

TEST(Enhancer, AnOutputThatIsNotFiniteIsAnErrorAndNoSound) {
  const auto spoil = [](const SpectrumBatch& s, Activations*) {
    s.phase[s.bins] = NAN;
    return Status();
  };
  const auto enhancer = pass_through_enhancer({}, {}, spoil);
  auto session = enhancer->start(8000, 1);
  ASSERT_TRUE(session);
  const auto sink = [](std::span<const float>) { return Internal("sound came out"); };
  ASSERT_TRUE((*session)->process(noise(1000), sink).ok());
  EXPECT_THAT((*session)->finish(sink).message(), HasSubstr("not finite"));
}

TEST(DumpWindow, NamesWhatHappensOnTheWay) {
  const auto halve = [](const SpectrumBatch& s, Activations* dump) {
    for (int64_t i = 0; i < s.batch * s.frames * s.bins; ++i) s.log_magnitude[i] /= 2;
    if (dump) dump->tensors["encoder_out"] = {{1}, {7.0f}};
    return Status();
  };
  const auto enhancer = pass_through_enhancer({}, {}, halve);
  const auto x = noise(1000);
  const auto dump = internal::dump_window(*enhancer, 8000, x);
  ASSERT_TRUE(dump) << dump.error().to_string();
  const auto& tensors = dump->tensors;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("encoder_out", "log_magnitude", "out_log_magnitude", "out_phase",
                                 "out_waveform", "phase", "waveform"));
  EXPECT_EQ(tensors.at("waveform").values, x);
  EXPECT_THAT(tensors.at("out_waveform").shape, ElementsAre(1000));
  for (const char* name : {"log_magnitude", "phase", "out_log_magnitude", "out_phase"}) {
    EXPECT_THAT(tensors.at(name).shape, ElementsAre(161, 26)) << name;
    EXPECT_EQ(tensors.at(name).values.size(), 161u * 26) << name;
  }
  // The first frame is symmetric: its phase, the first of each bin's row, is 0 or pi.
  for (int64_t f = 0; f < 161; ++f) {
    EXPECT_THAT(tensors.at("phase").values[f * 26], testing::AnyOf(0.0f, static_cast<float>(M_PI)));
  }
  for (size_t i = 0; i < 161u * 26; ++i) {
    EXPECT_EQ(tensors.at("out_log_magnitude").values[i], tensors.at("log_magnitude").values[i] / 2);
  }
}

TEST(DumpWindow, RefusesNoSamples) {
  const auto enhancer = pass_through_enhancer({});
  EXPECT_EQ(internal::dump_window(*enhancer, 8000, {}).error().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace hiss
