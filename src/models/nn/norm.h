// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "models/nn/map.h"

// The normalisations and the activation of the RE-USE network, on runs of channels-last memory.
namespace hiss::models {

// Per-channel sums of a row, the first half of InstanceNorm2d's statistics: sums [2, channels] =
// the sum of x, the sum of x * x, over `cols` columns of `stride` floats.
void channel_sums(const float* x, int64_t cols, int64_t channels, int64_t stride, double* sums);

// InstanceNorm2d (affine, biased variance) followed by PReLU, as what is done to one value:
//   v = (x - mean[c]) * scale[c] + bias[c];   v >= 0 ? v : slope[c] * v
struct NormPrelu {
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  const float* slope = nullptr;
};

// Adds up `rows` results of channel_sums, in order, and gives mean and scale = weight / sqrt(var +
// epsilon), [channels] each.
void finish_statistics(const double* sums, int64_t rows, int64_t channels, int64_t count,
                       const float* weight, double epsilon, float* mean, float* scale);

// x[w, c] = NormPrelu(x[w, c]) for `cols` columns of `stride` floats.
void norm_prelu(const NormPrelu& f, float* x, int64_t cols, int64_t channels, int64_t stride);

// LayerNorm over the last axis, between a linear layer's bias and a residual:
//   v = x + linear_bias;   out = (v - mean(v)) / sqrt(var(v) + epsilon) * weight + bias + residual
// x, residual and out are [tokens, channels] with `..._stride` floats a token; out may be
// residual. x is overwritten.
struct LayerNorm {
  const float* linear_bias = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  double epsilon = 1e-5;
};
void layer_norm_residual(const LayerNorm& norm, float* x, int64_t tokens, int64_t channels,
                         const float* residual, int64_t residual_stride, float* out,
                         int64_t out_stride);

}  // namespace hiss::models
