// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hiss/status.h"
#include "models/nn/map.h"

namespace hiss::models {

// A two-dimensional convolution (PyTorch's Conv2d) over channels-last maps:
//
//   out[h, w, o] = bias[o] + sum_{i,j,c} weight[i, j, c, o] * in[h', w', c]
//   h' = h * stride_rows + i * dilation_rows - pad_rows,   w' = w * stride_cols + j - pad_cols
//
// with zeros outside `in`. Weights are packed [kernel_rows, kernel_cols, in_channels,
// out_channels], so that each tap is a matrix.
struct Conv2d {
  const float* weight = nullptr;
  const float* bias = nullptr;  // [out_channels]
  int64_t in_channels = 1, out_channels = 1;
  int64_t kernel_rows = 1, kernel_cols = 1;
  int64_t stride_rows = 1, stride_cols = 1;
  int64_t dilation_rows = 1;
  int64_t pad_rows = 0, pad_cols = 0;

  int64_t out_rows(int64_t in_rows) const {
    return (in_rows + 2 * pad_rows - dilation_rows * (kernel_rows - 1) - 1) / stride_rows + 1;
  }
  int64_t out_cols(int64_t in_cols) const {
    return (in_cols + 2 * pad_cols - kernel_cols) / stride_cols + 1;
  }
};

// Output row `row`, channels [first, first + count): out [out_cols, count], `out_stride` floats
// from one column to the next.
Status conv2d_row(const Conv2d& conv, const Map& in, int64_t row, int64_t first, int64_t count,
                  float* out, int64_t out_stride);

}  // namespace hiss::models
