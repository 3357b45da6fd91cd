// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <sstream>

#include "enhancer/enhancer_impl.h"
#include "models/support.h"

// The network against the fixtures, which another implementation computed in float64.
namespace hiss::models {
namespace {

class Parity : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    Result<io::Safetensors> file = io::Safetensors::open(
        golden("reuse_tiny_io_" + std::to_string(GetParam()) + ".safetensors"));
    ASSERT_TRUE(file) << file.error().to_string();
    want_ = std::move(file).value();
  }

  // From the stored features: the network alone.
  void run_network(Precision precision = Precision::kStandard) {
    const LoadedModel loaded = load_model(golden("reuse_tiny_weights.safetensors"), 2, precision);
    ASSERT_NE(loaded.model, nullptr);
    const ConstTensorView stored = want_.find("log_magnitude");
    const int64_t bins = stored.shape[0], frames = stored.shape[1];
    auto log_magnitude = transposed(values_of(want_, "log_magnitude"), bins, frames);
    auto phase = transposed(values_of(want_, "phase"), bins, frames);
    const Status run =
        loaded.model->run({1, frames, bins, log_magnitude.data(), phase.data()}, &got_);
    ASSERT_TRUE(run.ok()) << run.to_string();
    got_.tensors["out_log_magnitude"] = {{bins, frames}, transposed(log_magnitude, frames, bins)};
    got_.tensors["out_phase"] = {{bins, frames}, transposed(phase, frames, bins)};
  }

  // From the waveform: front end, network and synthesis, as the enhancer runs them.
  void run_enhancer() {
    Result<std::unique_ptr<Enhancer>> enhancer =
        Enhancer::create({.model = golden("reuse_tiny_weights.safetensors"), .context = {}});
    ASSERT_TRUE(enhancer) << enhancer.error().to_string();
    Result<Activations> dump =
        internal::dump_window(**enhancer, GetParam(), values_of(want_, "waveform"));
    ASSERT_TRUE(dump) << dump.error().to_string();
    got_ = std::move(dump).value();
  }

  void expect_near(const std::string& name, double error, double bound) {
    std::ostringstream text;
    text << error;
    RecordProperty(name, text.str());
    EXPECT_LT(error, bound) << name;
  }
  void expect_tokens_near(double bound) {
    for (const std::string name : {"encoder_out", "block_0_out", "block_1_out"}) {
      const ConstTensorView stored = want_.find(name);
      const std::vector<int64_t> shape(stored.shape.begin(), stored.shape.begin() + stored.rank);
      EXPECT_EQ(got_.tensors[name].shape, shape) << name;
      expect_near(name, relative_rms(got_.tensors[name].values, values_of(want_, name)), bound);
    }
  }
  void expect_spectrum_near(double bound) {
    const auto want =
        spectrum(values_of(want_, "out_log_magnitude"), values_of(want_, "out_phase"));
    const auto got =
        spectrum(got_.tensors["out_log_magnitude"].values, got_.tensors["out_phase"].values);
    expect_near("spectrum", relative_rms(got, want), bound);
  }

  io::Safetensors want_;
  Activations got_;
};

TEST_P(Parity, FromFeaturesTokensAreWithin1e5RelativeRms) {
  run_network();
  expect_tokens_near(1e-5);
}

TEST_P(Parity, FromFeaturesTheComplexSpectrumIsWithin3e5RelativeRms) {
  run_network();
  expect_spectrum_near(3e-5);
}

TEST_P(Parity, FastTokensAreWithin1PercentRelativeRms) {
  run_network(Precision::kFast);
  expect_tokens_near(1e-2);
}

TEST_P(Parity, FastComplexSpectrumIsWithin2PercentRelativeRms) {
  run_network(Precision::kFast);
  expect_spectrum_near(2e-2);
}

TEST_P(Parity, FromTheWaveformTokensAreWithin1e5RelativeRms) {
  run_enhancer();
  expect_tokens_near(1e-5);
}

TEST_P(Parity, FromTheWaveformTheComplexSpectrumIsWithin3e5RelativeRms) {
  run_enhancer();
  expect_spectrum_near(3e-5);
}

TEST_P(Parity, FromTheWaveformTheWaveformIsWithin3e5RelativeRms) {
  run_enhancer();
  // The stored inverse transform ends at (T - 1) hop.
  const size_t valid = std::stoul(want_.metadata().at("valid_out_samples"));
  auto want = values_of(want_, "out_waveform"), got = got_.tensors["out_waveform"].values;
  ASSERT_GE(got.size(), valid);
  want.resize(valid);
  got.resize(valid);
  expect_near("out_waveform", relative_rms(got, want), 3e-5);
}

INSTANTIATE_TEST_SUITE_P(Rates, Parity, testing::Values(16000, 44100),
                         [](const auto& rate) { return std::to_string(rate.param) + "Hz"; });

// The comparator of the tests above.
TEST(RelativeRms, RejectsWhatDiffers) {
  const std::vector<float> want = {1, -2, 3, 0.5f};
  EXPECT_EQ(relative_rms(want, want), 0);
  EXPECT_GT(relative_rms<float>({1, -2, 3, 0.6f}, want), 1e-2) << "one wrong value";
  EXPECT_GT(relative_rms<float>({1, 2, 3, 0.5f}, want), 1) << "a sign";
  EXPECT_GT(relative_rms<float>({0, 0, 0, 0}, want), 0.99) << "nothing at all";
  EXPECT_GT(relative_rms<float>({-2, 3, 0.5f, 1}, want), 1) << "shifted";
  EXPECT_EQ(relative_rms<float>({1, -2, 3}, want), INFINITY) << "too short";
  EXPECT_EQ(relative_rms<float>({1, -2, 3, NAN}, want), INFINITY);
  EXPECT_EQ(relative_rms<float>({1, -2, 3, INFINITY}, want), INFINITY);
}

TEST(Spectrum, LooksAtPhaseOnlyWhereThereIsMagnitude) {
  EXPECT_EQ(spectrum({-1}, {2})[0], std::complex<double>(0));
  EXPECT_NEAR(std::abs(spectrum({1}, {3.2f})[0] - spectrum({1}, {3.2f - 6.2831853f})[0]), 0, 1e-6);
  EXPECT_GT(std::abs(spectrum({1}, {0})[0] - spectrum({1}, {1})[0]), 1);
}

}  // namespace
}  // namespace hiss::models
