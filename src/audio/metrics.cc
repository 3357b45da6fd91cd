// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "audio/fft.h"

namespace hiss::audio {
namespace {

using Signal = std::span<const float>;

double dot(Signal a, Signal b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

double squared_distance(Signal a, Signal b, double scale_b = 1) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = a[i] - scale_b * b[i];
    sum += difference * difference;
  }
  return sum;
}

// Limited, and defined where signal or noise is nothing.
double ratio_db(double signal, double noise, double low, double high) {
  if (signal == 0) return low;
  if (noise == 0) return high;
  return std::clamp(10 * std::log10(signal / noise), low, high);
}

Status check(Signal reference, Signal estimate) {
  if (reference.size() != estimate.size()) {
    return InvalidArgument("estimate: got " + std::to_string(estimate.size()) + " samples, want " +
                           std::to_string(reference.size()) + " as in the reference");
  }
  const auto finite = [](float x) { return std::isfinite(x); };
  if (!std::ranges::all_of(reference, finite) || !std::ranges::all_of(estimate, finite)) {
    return InvalidArgument("reference or estimate: got samples that are not finite");
  }
  if (std::ranges::all_of(reference, [](float x) { return x == 0; })) {
    return InvalidArgument("reference: got no signal");
  }
  return {};
}

// Spectra in dB of the frames that metrics are made of.
class Frames {
 public:
  explicit Frames(int sample_rate)
      : fft_(static_cast<int64_t>(
            std::bit_ceil(std::max<uint64_t>(std::llround(0.032 * sample_rate), 4)))),
        window_(fft_.size()),
        frame_(fft_.size()),
        spectrum_(fft_.bins()) {
    for (int64_t i = 0; i < fft_.size(); ++i) {
      const double turns = static_cast<double>(i) / static_cast<double>(fft_.size());
      window_[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * turns);
    }
  }
  int64_t count(int64_t samples) const {
    return 1 + std::max<int64_t>(0, (samples - fft_.size() + hop() - 1) / hop());
  }
  double mean_square(Signal x, int64_t t) const {
    const Signal frame = part(x, t);
    return dot(frame, frame) / static_cast<double>(fft_.size());
  }
  // levels [bins] of frame t.
  void levels_db(Signal x, int64_t t, std::vector<double>& levels) {
    const Signal frame = part(x, t);
    std::fill(frame_.begin(), frame_.end(), 0.0);
    for (size_t i = 0; i < frame.size(); ++i) frame_[i] = window_[i] * frame[i];
    fft_.forward(frame_.data(), spectrum_.data());
    levels.clear();
    const double full_scale = static_cast<double>(fft_.size()) / 4;
    for (const auto& bin : spectrum_) {
      levels.push_back(20 * std::log10(std::max(std::abs(bin) / full_scale, 1e-8)));
    }
  }

 private:
  int64_t hop() const { return fft_.size() / 4; }
  Signal part(Signal x, int64_t t) const {
    const size_t start = static_cast<size_t>(t * hop());
    return x.subspan(start, std::min<size_t>(fft_.size(), x.size() - start));
  }
  RealFft fft_;
  std::vector<double> window_, frame_;
  std::vector<std::complex<double>> spectrum_;
};

double rms_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

}  // namespace

Result<double> si_sdr_db(Signal reference, Signal estimate) {
  HISS_RETURN_IF_ERROR(check(reference, estimate));
  const double energy = dot(reference, reference), scale = dot(estimate, reference) / energy;
  return ratio_db(scale * scale * energy, squared_distance(estimate, reference, scale), -200, 200);
}

Result<double> segmental_snr_db(Signal reference, Signal estimate, int sample_rate) {
  HISS_RETURN_IF_ERROR(check(reference, estimate));
  const size_t n = reference.size();
  const size_t length = std::clamp<size_t>(std::lround(0.03 * sample_rate), 1, n);
  const size_t hop = std::max<size_t>(std::lround(0.0075 * sample_rate), 1);
  double sum = 0;
  int64_t segments = 0;
  for (size_t start = 0; start + length <= n; start += hop) {
    const Signal s = reference.subspan(start, length), y = estimate.subspan(start, length);
    const double energy = dot(s, s);
    if (energy == 0) continue;
    sum += ratio_db(energy, squared_distance(y, s), -10, 35);
    ++segments;
  }
  if (segments == 0) return InvalidArgument("reference: got no signal in any whole segment");
  return sum / static_cast<double>(segments);
}

Result<double> log_spectral_distance_db(Signal reference, Signal estimate, int sample_rate) {
  HISS_RETURN_IF_ERROR(check(reference, estimate));
  Frames frames(sample_rate);
  const int64_t count = frames.count(static_cast<int64_t>(reference.size()));
  double loudest = 0;
  for (int64_t t = 0; t < count; ++t) loudest = std::max(loudest, frames.mean_square(reference, t));
  std::vector<double> a, b;
  double sum = 0;
  int64_t counted = 0;
  for (int64_t t = 0; t < count; ++t) {
    if (frames.mean_square(reference, t) < 1e-4 * loudest) continue;
    frames.levels_db(reference, t, a);
    frames.levels_db(estimate, t, b);
    sum += rms_difference(a, b);
    ++counted;
  }
  return sum / static_cast<double>(counted);
}

}  // namespace hiss::audio
