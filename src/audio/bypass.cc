// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/bypass.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hiss::audio {
namespace {

constexpr double kFloor = 1e-12;  // mean power that counts as nothing

// Sums of power [frames, bins] over the box around each cell, cut at the edges.
std::vector<double> box_sums(const BypassRule& rule, int64_t frames, int64_t bins,
                             const float* power) {
  std::vector<double> along_bins(frames * bins), sums(frames * bins, 0.0), prefix(bins + 1);
  for (int64_t t = 0; t < frames; ++t) {
    for (int64_t f = 0; f < bins; ++f) prefix[f + 1] = prefix[f] + power[t * bins + f];
    for (int64_t f = 0; f < bins; ++f) {
      along_bins[t * bins + f] =
          prefix[std::min(f + rule.bins + 1, bins)] - prefix[std::max<int64_t>(f - rule.bins, 0)];
    }
  }
  for (int64_t t = 0; t < frames; ++t) {
    const int64_t last = std::min(t + rule.frames, frames - 1);
    for (int64_t s = std::max<int64_t>(t - rule.frames, 0); s <= last; ++s) {
      for (int64_t f = 0; f < bins; ++f) sums[t * bins + f] += along_bins[s * bins + f];
    }
  }
  return sums;
}

int64_t cells(int64_t i, int64_t reach, int64_t size) {
  return std::min(i + reach, size - 1) - std::max<int64_t>(i - reach, 0) + 1;
}

std::vector<float> powers(const std::vector<std::complex<float>>& spectrum) {
  std::vector<float> result(spectrum.size());
  std::ranges::transform(spectrum, result.begin(), [](auto bin) { return std::norm(bin); });
  return result;
}

}  // namespace

void bypass_gain(const BypassRule& rule, int64_t frames, int64_t bins, const float* removed,
                 const float* input, float* gain) {
  const std::vector<double> removed_sums = box_sums(rule, frames, bins, removed);
  const std::vector<double> input_sums = box_sums(rule, frames, bins, input);
  for (int64_t t = 0; t < frames; ++t) {
    for (int64_t f = 0; f < bins; ++f) {
      const int64_t i = t * bins + f;
      const double floor =
          kFloor * static_cast<double>(cells(t, rule.frames, frames) * cells(f, rule.bins, bins));
      // A prefix sum of small powers after large ones may come out below zero.
      const double r =
          (std::max(removed_sums[i], 0.0) + floor) / (std::max(input_sums[i], 0.0) + floor);
      const double g = (rule.high_db - 10 * std::log10(r)) / (rule.high_db - rule.low_db);
      gain[i] = static_cast<float>(std::clamp(g, 0.0, 1.0));
    }
  }
}

void bypass(const BypassRule& rule, Stft& stft, int64_t samples, const float* noisy, float* clean,
            Executor& executor) {
  const int64_t frames = stft.frames(samples), bins = stft.bins();
  std::vector<std::complex<float>> spectrum(frames * bins);
  stft.transform(1, samples, noisy, spectrum.data(), executor);
  const std::vector<float> input = powers(spectrum);

  std::vector<float> removed(samples);
  for (int64_t i = 0; i < samples; ++i) removed[i] = noisy[i] - clean[i];
  stft.transform(1, samples, removed.data(), spectrum.data(), executor);
  std::vector<float> gain = powers(spectrum);
  bypass_gain(rule, frames, bins, gain.data(), input.data(), gain.data());

  for (size_t i = 0; i < spectrum.size(); ++i) spectrum[i] *= gain[i];
  stft.invert(1, samples, spectrum.data(), removed.data(), executor);
  for (int64_t i = 0; i < samples; ++i) clean[i] += removed[i];
}

}  // namespace hiss::audio
