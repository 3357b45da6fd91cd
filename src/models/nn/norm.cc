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

namespace {

// The sum of v, or of v * v, over n values: in eight interleaved parts, so that the order is fixed
// and the compiler can keep them in a vector.
template <bool squared>
float sum(const float* v, int64_t n) {
  constexpr int64_t kParts = 8;
  float parts[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= n; i += kParts)
    for (int64_t k = 0; k < kParts; ++k) parts[k] += squared ? v[i + k] * v[i + k] : v[i + k];
  for (; i < n; ++i) parts[i % kParts] += squared ? v[i] * v[i] : v[i];
  return ((parts[0] + parts[4]) + (parts[2] + parts[6])) +
         ((parts[1] + parts[5]) + (parts[3] + parts[7]));
}

}  // namespace

void layer_norm_residual(const LayerNorm& norm, float* x, int64_t tokens, int64_t channels,
                         const float* residual, int64_t residual_stride, float* out,
                         int64_t out_stride) {
  const float* __restrict linear_bias = norm.linear_bias;
  const float* __restrict weight = norm.weight;
  const float* __restrict bias = norm.bias;
  const float n = static_cast<float>(channels);
  for (int64_t t = 0; t < tokens; ++t) {
    float* __restrict v = x + t * channels;
    for (int64_t c = 0; c < channels; ++c) v[c] += linear_bias[c];
    const float mean = sum<false>(v, channels) / n;
    for (int64_t c = 0; c < channels; ++c) v[c] -= mean;
    const float scale =
        1 / std::sqrt(sum<true>(v, channels) / n + static_cast<float>(norm.epsilon));
    for (int64_t c = 0; c < channels; ++c) v[c] = v[c] * scale * weight[c] + bias[c];
    const float* r = residual + t * residual_stride;
    float* y = out + t * out_stride;
    for (int64_t c = 0; c < channels; ++c) y[c] = v[c] + r[c];
  }
}

}  // namespace hiss::models
