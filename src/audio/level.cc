// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/level.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hiss::audio {
namespace {

double amplitude(double dbfs) { return std::pow(10.0, dbfs / 20); }

}  // namespace

double level_gain(std::span<const float> window, double rms_dbfs) {
  double energy = 0;
  for (const double x : window) energy += x * x;
  const double rms = window.empty() ? 0 : std::sqrt(energy / static_cast<double>(window.size()));
  return amplitude(rms_dbfs) / std::max(rms, amplitude(kSilenceDbfs));
}

void scale(std::span<float> window, double factor) {
  constexpr double kMax = std::numeric_limits<float>::max();
  for (float& x : window) x = static_cast<float>(std::clamp(x * factor, -kMax, kMax));
}

}  // namespace hiss::audio
