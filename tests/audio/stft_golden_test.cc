// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The front end against values computed in float64 by an independent implementation.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "audio/signals.h"
#include "audio/stft.h"
#include "io/safetensors.h"

namespace hiss::audio {
namespace {

using testing_support::relative_rms;

class StftGoldenTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::string path = std::string(HISS_SOURCE_DIR) + "/tests/golden/reuse_tiny_io_" +
                             std::to_string(GetParam()) + ".safetensors";
    auto file = io::Safetensors::open(path);
    ASSERT_TRUE(file) << file.error().to_string();
    file_ = *std::move(file);
    auto stft = Stft::create(StftSizes::scaled({}, 8000, GetParam()));
    ASSERT_TRUE(stft);
    stft_ = std::make_unique<Stft>(*std::move(stft));
  }
  std::vector<float> load(const std::string& name) const {
    const ConstTensorView view = file_->find(name);
    return {view.as<float>(), view.as<float>() + view.elements()};
  }
  // [F, T], as the fixtures have it, to [T, F].
  std::vector<float> load_frames(const std::string& name) const {
    const ConstTensorView view = file_->find(name);
    std::vector<float> result;
    for (int64_t t = 0; t < view.shape[1]; ++t) {
      for (int64_t f = 0; f < view.shape[0]; ++f) {
        result.push_back(view.as<float>()[f * view.shape[1] + t]);
      }
    }
    return result;
  }
  std::optional<io::Safetensors> file_;
  std::unique_ptr<Stft> stft_;
};

// expm1(log magnitude) e^(i phase), real and imaginary parts in turn.
std::vector<float> complex_values(const std::vector<float>& log_magnitude,
                                  const std::vector<float>& phase) {
  std::vector<float> result;
  for (size_t i = 0; i < phase.size(); ++i) {
    const auto z = std::polar<double>(std::expm1(log_magnitude[i]), phase[i]);
    result.push_back(static_cast<float>(z.real()));
    result.push_back(static_cast<float>(z.imag()));
  }
  return result;
}

TEST_P(StftGoldenTest, AnalysisAgrees) {
  const auto waveform = load("waveform"), magnitude = load_frames("log_magnitude"),
             phase = load_frames("phase");
  const int64_t n = static_cast<int64_t>(waveform.size());
  ASSERT_EQ(static_cast<int64_t>(magnitude.size()), stft_->frames(n) * stft_->bins());
  std::vector<float> got_magnitude(magnitude.size()), got_phase(phase.size());
  stft_->analyse(1, n, waveform.data(), got_magnitude.data(), got_phase.data(), serial_executor());
  EXPECT_LT(relative_rms(got_magnitude, magnitude), 1e-7);
  EXPECT_LT(
      relative_rms(complex_values(got_magnitude, got_phase), complex_values(magnitude, phase)),
      3e-7);
  // The rule for bins without a phase makes even the raw angles agree.
  EXPECT_LT(testing_support::largest_difference(got_phase, phase), 1e-5);
}

TEST_P(StftGoldenTest, SynthesisAgreesAsFarAsTheInverseTransformReaches) {
  const auto magnitude = load_frames("out_log_magnitude"), phase = load_frames("out_phase");
  const int64_t n = static_cast<int64_t>(load("waveform").size());
  std::vector<float> x(n);
  ASSERT_TRUE(
      stft_->synthesise(1, n, magnitude.data(), phase.data(), x.data(), serial_executor()).ok());
  const auto want = load("out_waveform");
  ASSERT_EQ(std::to_string(want.size()), file_->metadata().find("valid_out_samples")->second);
  EXPECT_LT(relative_rms(std::span(x).first(want.size()), want), 3e-7);
  for (const float v : x) EXPECT_TRUE(std::isfinite(v));
}

INSTANTIATE_TEST_SUITE_P(Rates, StftGoldenTest, testing::Values(16000, 44100));

}  // namespace
}  // namespace hiss::audio
