// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "comparison.h"

#include <fmt/format.h>

#include "audio/metrics.h"

namespace hiss::app {
namespace {

using Metric = Result<double> (*)(std::span<const float> reference, std::span<const float> estimate,
                                  int sample_rate);

Result<double> si_sdr(std::span<const float> reference, std::span<const float> estimate, int) {
  return audio::si_sdr_db(reference, estimate);
}

std::vector<float> channel(const std::vector<float>& interleaved, size_t which, size_t channels) {
  std::vector<float> samples;
  samples.reserve(interleaved.size() / channels);
  for (size_t i = which; i < interleaved.size(); i += channels) samples.push_back(interleaved[i]);
  return samples;
}

}  // namespace

Result<Comparison> Comparison::open(const std::string& path, const audio::AudioInfo& like) {
  HISS_ASSIGN_OR_RETURN(const auto reader, audio::AudioReader::open(path));
  const audio::AudioInfo& info = reader->info();
  if (info.sample_rate != like.sample_rate || info.channels != like.channels) {
    return InvalidArgument(
        fmt::format("{}: the reference has {} Hz and {} channel(s), the input {} Hz and {}", path,
                    info.sample_rate, info.channels, like.sample_rate, like.channels));
  }
  Comparison comparison;
  comparison.path_ = path;
  comparison.sample_rate_ = info.sample_rate;
  comparison.channels_ = static_cast<size_t>(info.channels);
  std::vector<float> block(4096 * comparison.channels_);
  for (;;) {
    HISS_ASSIGN_OR_RETURN(const int64_t frames, reader->read(std::span(block)));
    if (frames == 0) return comparison;
    const auto end = block.begin() + static_cast<std::ptrdiff_t>(frames) * info.channels;
    comparison.reference_.insert(comparison.reference_.end(), block.begin(), end);
  }
}

void Comparison::add_before(std::span<const float> interleaved) {
  before_.insert(before_.end(), interleaved.begin(), interleaved.end());
}

void Comparison::add_after(std::span<const float> interleaved) {
  after_.insert(after_.end(), interleaved.begin(), interleaved.end());
}

Result<EnhanceMetrics> Comparison::result() const {
  if (reference_.size() != before_.size()) {
    return InvalidArgument(fmt::format("{}: the reference has {} frames, the input {}", path_,
                                       reference_.size() / channels_, before_.size() / channels_));
  }
  // The mean over the channels; absent when a channel has none (a silent reference).
  const auto mean = [&](Metric metric,
                        const std::vector<float>& estimate) -> std::optional<double> {
    double sum = 0;
    for (size_t c = 0; c < channels_; ++c) {
      const auto value =
          metric(channel(reference_, c, channels_), channel(estimate, c, channels_), sample_rate_);
      if (!value) return std::nullopt;
      sum += *value;
    }
    return sum / static_cast<double>(channels_);
  };
  return EnhanceMetrics{.si_sdr_before = mean(si_sdr, before_),
                        .si_sdr_after = mean(si_sdr, after_),
                        .lsd_before = mean(audio::log_spectral_distance_db, before_),
                        .lsd_after = mean(audio::log_spectral_distance_db, after_)};
}

}  // namespace hiss::app
