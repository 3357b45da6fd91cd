// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// The normalisations of the RE-USE network, on runs of channels-last memory.
namespace hiss::models {

// InstanceNorm2d's statistics: adds up `rows` results of RowMath::channel_sums, in order, and gives
// mean and scale = weight / sqrt(var + epsilon), [channels] each.
void finish_statistics(const double* sums, int64_t rows, int64_t channels, int64_t count,
                       const float* weight, double epsilon, float* mean, float* scale);

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
