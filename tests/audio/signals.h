// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <vector>

namespace hiss::testing_support {

// Uniform in +-amplitude; the same for the same seed.
inline std::vector<float> noise(int64_t n, float amplitude = 0.5f, uint32_t seed = 1) {
  std::mt19937 generator(seed);
  std::vector<float> x(n);
  for (float& v : x) {
    v = amplitude * (static_cast<float>(generator() >> 8) / static_cast<float>(1 << 23) - 1.0f);
  }
  return x;
}

// A sine of `frequency` cycles a sample.
inline std::vector<float> tone(int64_t n, double frequency, double amplitude = 1.0) {
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(amplitude *
                              std::sin(2 * std::numbers::pi * frequency * static_cast<double>(i)));
  }
  return x;
}

// Largest absolute difference; infinite when the sizes differ or a value is NaN.
inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (std::isnan(difference)) return INFINITY;
    largest = std::max(largest, difference);
  }
  return largest;
}

// Root mean square of the difference over that of `want`.
inline double relative_rms(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return INFINITY;
  double error = 0, energy = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - want[i];
    if (std::isnan(difference)) return INFINITY;
    error += difference * difference;
    energy += static_cast<double>(want[i]) * want[i];
  }
  return std::sqrt(error / energy);
}

}  // namespace hiss::testing_support
