// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <sstream>

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
    io_ = std::move(file).value();
    loaded_ = load_model(golden("reuse_tiny_weights.safetensors"));
    ASSERT_NE(loaded_.model, nullptr);
    const ConstTensorView stored = io_.find("log_magnitude");
    bins_ = stored.shape[0];
    frames_ = stored.shape[1];
    log_magnitude_ = transposed(values_of(io_, "log_magnitude"), bins_, frames_);
    phase_ = transposed(values_of(io_, "phase"), bins_, frames_);
    const Status run = loaded_.model->run({1, frames_, bins_, log_magnitude_.data(), phase_.data()},
                                          &activations_);
    ASSERT_TRUE(run.ok()) << run.to_string();
  }

  // How far it was, for who wants to know how much room is left.
  static void note(const std::string& name, double error) {
    std::ostringstream text;
    text << error;
    RecordProperty(name, text.str());
  }

  io::Safetensors io_;
  LoadedModel loaded_;
  int64_t bins_ = 0, frames_ = 0;
  std::vector<float> log_magnitude_, phase_;  // [T, F]
  Activations activations_;
};

TEST_P(Parity, EncoderAndBlockOutputsAreWithin1e5RelativeRms) {
  for (const std::string name : {"encoder_out", "block_0_out", "block_1_out"}) {
    const ConstTensorView want = io_.find(name);
    const Activations::Tensor& got = activations_.tensors[name];
    EXPECT_EQ(got.shape, std::vector<int64_t>(want.shape.begin(), want.shape.begin() + 3)) << name;
    const double error = relative_rms(got.values, values_of(io_, name));
    note(name, error);
    EXPECT_LT(error, 1e-5) << name;
  }
}

TEST_P(Parity, ComplexOutputSpectrumIsWithin3e5RelativeRms) {
  const auto want = spectrum(transposed(values_of(io_, "out_log_magnitude"), bins_, frames_),
                             transposed(values_of(io_, "out_phase"), bins_, frames_));
  const double error = relative_rms(spectrum(log_magnitude_, phase_), want);
  note("spectrum", error);
  EXPECT_LT(error, 3e-5);
}

TEST_P(Parity, DumpHoldsTheSpectraThatWentInAndCameOut) {
  EXPECT_EQ(activations_.tensors["log_magnitude"].values, values_of(io_, "log_magnitude"));
  EXPECT_EQ(activations_.tensors["phase"].values, values_of(io_, "phase"));
  EXPECT_EQ(activations_.tensors["out_log_magnitude"].values,
            transposed(log_magnitude_, frames_, bins_));
  EXPECT_EQ(activations_.tensors["out_phase"].values, transposed(phase_, frames_, bins_));
}

INSTANTIATE_TEST_SUITE_P(Rates, Parity, testing::Values(16000, 44100));

}  // namespace
}  // namespace hiss::models
