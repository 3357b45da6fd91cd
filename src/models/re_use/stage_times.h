// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace hiss::models::re_use {

// The parts of a run that the benchmark tells apart.
enum class Stage : uint8_t {
  kEncoder,
  kInProj,
  kConv,
  kXProj,
  kDtProj,
  kScan,
  kOutProj,
  kMerge,
  kDecoders,
};
inline constexpr std::array<const char*, 9> kStageNames = {
    "encoder", "in_proj", "conv1d", "x_proj", "dt_proj", "scan", "out_proj", "merge", "decoders"};

// Nanoseconds a worker spent in each stage; one object a worker.
struct alignas(64) StageTimes {
  std::array<int64_t, kStageNames.size()> ns{};
};

// Charges the time since it was made, or since the last lap, to a stage. Without times it does
// nothing, not even look at the clock.
class StageClock {
 public:
  explicit StageClock(StageTimes* times) : times_(times) {
    if (times_ != nullptr) last_ = Clock::now();
  }
  void lap(Stage stage) {
    if (times_ == nullptr) return;
    const Clock::time_point now = Clock::now();
    times_->ns[static_cast<size_t>(stage)] +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_).count();
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  StageTimes* times_;
  Clock::time_point last_{};
};

}  // namespace hiss::models::re_use
