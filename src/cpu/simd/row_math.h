// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hiss/machine.h"

namespace hiss::cpu {

// InstanceNorm2d (affine, biased variance) followed by PReLU, as what is done to one value:
//   v = (x - mean[c]) * scale[c] + bias[c];   v >= 0 ? v : slope[c] * v
struct NormPrelu {
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  const float* slope = nullptr;

  NormPrelu from(int64_t channel) const {
    return {mean + channel, scale + channel, bias + channel, slope + channel};
  }
};

// A row of channels-last memory: [cols, channels], `stride` floats from one column to the next.
template <class T>
struct BasicRow {
  T* data;
  int64_t cols, channels, stride;
};
using Row = BasicRow<const float>;
using MutableRow = BasicRow<float>;

// LayerNorm over the channels, between a linear layer's bias and a residual:
//   v = x + linear_bias;   (v - mean(v)) / sqrt(var(v) + epsilon) * weight + bias + residual
struct LayerNorm {
  const float* linear_bias = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float epsilon = 1e-5f;
};

// Winograd's minimal filtering F(4, 3) along the columns of a row, one column of zeros before and
// after it: outputs 4 t ... 4 t + 3 (tile t) of a filter of three taps from six products instead of
// twelve (Lavin & Gray, Fast Algorithms for Convolutional Neural Networks, 2015; interpolation
// points 0, 1, -1, 2, -2, infinity).
inline constexpr int64_t kTileOutputs = 4, kTilePoints = 6;
inline int64_t tiles_of(int64_t cols) { return (cols + kTileOutputs - 1) / kTileOutputs; }
// The filter: what each point multiplies with.
inline constexpr float kTileFilter[kTilePoints][3] = {{1.0f / 4, 0, 0},
                                                      {-1.0f / 6, -1.0f / 6, -1.0f / 6},
                                                      {-1.0f / 6, 1.0f / 6, -1.0f / 6},
                                                      {1.0f / 24, 1.0f / 12, 1.0f / 6},
                                                      {1.0f / 24, -1.0f / 12, 1.0f / 6},
                                                      {0, 0, 1}};

// The tiles of a row at their points: element (point, tile, channel) is
// data[point * point_stride + tile * tile_stride + channel].
template <class T>
struct BasicTiles {
  T* data;
  int64_t count, point_stride, tile_stride;
};
using Tiles = BasicTiles<const float>;
using MutableTiles = BasicTiles<float>;

// What networks do to rows of channels between products, for one instruction set. NaN stays NaN.
struct RowMath {
  std::string_view isa;  // "avx512" ..., "baseline": one by one
  // n floats rounded to nearest even.
  void (*to_bf16)(const float* x, int64_t n, uint16_t* result);
  // sums [2, channels] = the sum of x, the sum of x * x over the columns, in double.
  void (*channel_sums)(const Row& x, double* sums);
  void (*norm_prelu)(const NormPrelu& f, const MutableRow& x);
  // y = LayerNorm(x) + residual; y may be residual. x is overwritten.
  void (*layer_norm_residual)(const LayerNorm& f, const MutableRow& x, const Row& residual,
                              const MutableRow& y);
  // The row's side of the products, of NormPrelu(x).
  void (*winograd_input)(const Row& x, const NormPrelu& f, const MutableTiles& tiles);
  // The outputs from the products, plus bias[channel]; those beyond the row are dropped.
  void (*winograd_output)(const Tiles& tiles, const float* bias, const MutableRow& y);
};

// The best for this machine.
const RowMath& row_math();

// Every one that is compiled in and that the machine has, best first.
std::vector<const RowMath*> all_row_math(const Machine& machine);

}  // namespace hiss::cpu
