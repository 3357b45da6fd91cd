// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/nn/norm.h"

#include <algorithm>
#include <cmath>

namespace hiss::models {

void finish_statistics(const double* sums, int64_t rows, int64_t channels, int64_t count,
                       const float* weight, double epsilon, float* mean, float* scale) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (int64_t r = 0; r < rows; ++r) {
      sum += sums[(2 * r) * channels + c];
      squares += sums[(2 * r + 1) * channels + c];
    }
    const double m = sum / static_cast<double>(count);
    const double variance = std::max(0.0, squares / static_cast<double>(count) - m * m);
    mean[c] = static_cast<float>(m);
    scale[c] = static_cast<float>(weight[c] / std::sqrt(variance + epsilon));
  }
}

}  // namespace hiss::models
