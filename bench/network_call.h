// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "clock.h"
#include "models/random_checkpoint.h"
#include "models/re_use/re_use.h"
#include "network.h"

// What network.cc runs: features, checkpoints and the network on them.
namespace hiss::bench {

using models::ReUse;
using models::ReUseConfig;

// One window's features, as dense [frames, bins].
struct Features {
  int64_t frames, bins;
  std::vector<float> log_magnitude, phase;

  Features(const ReUseConfig& c, int64_t rate)
      : frames(kWindowSeconds * rate / (c.hop_size * rate / c.sampling_rate / 2 * 2) + 1),
        bins(c.n_fft * rate / c.sampling_rate / 2 + 1) {
    std::mt19937 engine(7);
    std::uniform_real_distribution<float> uniform(0, 1);
    for (int64_t i = 0; i < frames * bins; ++i) {
      log_magnitude.push_back(2 * uniform(engine));
      phase.push_back(6 * uniform(engine) - 3);
    }
  }
  std::vector<float> phasors() const {
    std::vector<float> values;
    for (const float angle : phase)
      values.push_back(std::cos(angle)), values.push_back(std::sin(angle));
    return values;
  }
};

inline ConstTensorView flat(const std::vector<float>& values) {
  return {values.data(), DType::kF32, {static_cast<int64_t>(values.size())}};
}

inline double relative_rms(const std::vector<float>& values, const std::vector<float>& expected) {
  return ops::compare(flat(values), flat(expected), {}).relative_rms;
}

// A checkpoint with random weights, gone with the object.
class Checkpoint {
 public:
  static Result<std::unique_ptr<Checkpoint>> create(ReUseConfig config) {
    auto checkpoint = std::make_unique<Checkpoint>();
    checkpoint->path =
        (std::filesystem::temp_directory_path() / ("hiss_bench_" + std::to_string(getpid()) + "_" +
                                                   std::to_string(config.blocks) + ".safetensors"))
            .string();
    HISS_RETURN_IF_ERROR(models::re_use::write_random_checkpoint(checkpoint->path, config));
    return checkpoint;
  }
  ~Checkpoint() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  std::string path;
};

// A network in one class, run on the same features again and again.
class NetworkCall final : public Timed {
 public:
  static Result<std::unique_ptr<NetworkCall>> create(const std::string& path, Context& context,
                                                     Precision precision, int64_t rate) {
    HISS_ASSIGN_OR_RETURN(auto network, ReUse::load(path, context, precision));
    std::unique_ptr<NetworkCall> call(new NetworkCall(std::move(network), context, rate));
    HISS_RETURN_IF_ERROR(call->run());
    return call;
  }
  const ReUse& network() const { return *network_; }
  const Features& input() const { return input_; }
  const Features& answer() const { return answer_; }
  Result<double> milliseconds_of_a_call() override {
    const double start = milliseconds(alone_);
    HISS_RETURN_IF_ERROR(run());
    return milliseconds(alone_) - start;
  }

 private:
  NetworkCall(std::unique_ptr<ReUse> network, Context& context, int64_t rate)
      : network_(std::move(network)),
        alone_(context.executor().workers() == 1),
        input_(network_->config(), rate),
        answer_(input_) {}
  Status run() {
    answer_ = input_;
    return network_->run(
        {1, answer_.frames, answer_.bins, answer_.log_magnitude.data(), answer_.phase.data()},
        nullptr);
  }

  const std::unique_ptr<ReUse> network_;
  const bool alone_;
  const Features input_;
  Features answer_;
};

}  // namespace hiss::bench
