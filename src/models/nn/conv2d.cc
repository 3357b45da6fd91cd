// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/nn/conv2d.h"

#include <algorithm>
#include <cassert>

#include "models/nn/matrix.h"

namespace hiss::models {

Status conv2d_row(const Conv2d& conv, const Map& in, int64_t row, int64_t first, int64_t count,
                  float* out, int64_t out_stride) {
  assert(in.channels == conv.in_channels && first + count <= conv.out_channels);
  const int64_t cols = conv.out_cols(in.cols);
  for (int64_t w = 0; w < cols; ++w) std::copy_n(conv.bias + first, count, out + w * out_stride);
  for (int64_t tap = 0; tap < conv.kernel_rows * conv.kernel_cols; ++tap) {
    const int64_t i = tap / conv.kernel_cols, j = tap % conv.kernel_cols;
    const int64_t in_row = row * conv.stride_rows + i * conv.dilation_rows - conv.pad_rows;
    if (in_row < 0 || in_row >= in.rows) continue;
    // The output columns [begin, end) whose input column lies inside the map.
    const int64_t shift = j - conv.pad_cols;
    const int64_t begin = std::max<int64_t>(0, (-shift + conv.stride_cols - 1) / conv.stride_cols);
    const int64_t end = std::min(cols, (in.cols - shift + conv.stride_cols - 1) / conv.stride_cols);
    if (begin >= end) continue;
    const float* x = in.row(in_row) + (begin * conv.stride_cols + shift) * in.stride;
    const float* w = conv.weight + tap * conv.in_channels * conv.out_channels + first;
    HISS_RETURN_IF_ERROR(
        matrix_product({x, end - begin, conv.in_channels, in.stride * conv.stride_cols},
                       {w, conv.in_channels, count, conv.out_channels},
                       {out + begin * out_stride, end - begin, count, out_stride}, Write::kAdd));
  }
  return {};
}

}  // namespace hiss::models
