// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "enhancer/enhancer_impl.h"
#include "hiss/enhancer.h"
#include "models/re_use/re_use.h"

namespace hiss::testing_support {

// A network that gives back what it is fed, or what `change` makes of it.
class PassThrough final : public models::ReUse {
 public:
  using Change = std::function<Status(const models::SpectrumBatch&, models::Activations*)>;
  explicit PassThrough(models::ReUseConfig config = {}, Change change = {})
      : config_(std::move(config)), change_(std::move(change)) {}
  const models::ReUseConfig& config() const override { return config_; }
  int64_t parameters() const override { return 12; }
  std::vector<std::string> kernels() const override { return {"selective_scan/none"}; }
  Status run(const models::SpectrumBatch& spectrum, models::Activations* dump) override {
    return change_ ? change_(spectrum, dump) : Status();
  }

 private:
  models::ReUseConfig config_;
  Change change_;
};

inline std::unique_ptr<Enhancer> pass_through_enhancer(const EnhancerOptions& options,
                                                       const models::ReUseConfig& config = {},
                                                       PassThrough::Change change = {}) {
  auto context = Context::create({.threads = 2});
  EXPECT_TRUE(context);
  auto enhancer = internal::make_enhancer(std::make_unique<Context>(*std::move(context)),
                                          std::make_unique<PassThrough>(config, std::move(change)),
                                          "test", options);
  EXPECT_TRUE(enhancer) << enhancer.error().to_string();
  return *std::move(enhancer);
}

// Takes `input` through a session in blocks of `next_block()` frames (0 is a block too).
inline std::vector<float> enhance(Enhancer& enhancer, int rate, int channels,
                                  std::span<const float> input,
                                  const std::function<int64_t()>& next_block) {
  auto session = enhancer.start(rate, channels);
  EXPECT_TRUE(session) << session.error().to_string();
  std::vector<float> output;
  const auto sink = [&](std::span<const float> frames) {
    output.insert(output.end(), frames.begin(), frames.end());
    return Status();
  };
  while (!input.empty()) {
    const size_t size = std::min<size_t>(next_block() * channels, input.size());
    EXPECT_TRUE((*session)->process(input.first(size), sink).ok());
    input = input.subspan(size);
  }
  EXPECT_TRUE((*session)->finish(sink).ok());
  return output;
}

}  // namespace hiss::testing_support
