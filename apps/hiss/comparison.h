// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>
#include <vector>

#include "audio/files/audio_file.h"
#include "enhance.h"
#include "hiss/status.h"

namespace hiss::app {

// Measures input and output against a clean reference. The metrics look at whole recordings, so
// this keeps three of them in memory.
class Comparison {
 public:
  // Reads the reference. AudioReader's errors; kInvalidArgument: its rate or channels are not
  // those of `like`.
  static Result<Comparison> open(const std::string& path, const audio::AudioInfo& like);
  void add_before(std::span<const float> interleaved);
  void add_after(std::span<const float> interleaved);
  // kInvalidArgument: the recordings differ in length.
  Result<EnhanceMetrics> result() const;

 private:
  std::string path_;
  int sample_rate_ = 0;
  size_t channels_ = 0;
  std::vector<float> reference_, before_, after_;  // interleaved
};

}  // namespace hiss::app
