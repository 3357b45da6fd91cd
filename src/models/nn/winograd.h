// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "cpu/simd/row_math.h"
#include "models/nn/carver.h"
#include "models/nn/conv2d.h"
#include "models/nn/packed_product.h"

// Convolutions whose kernel has three columns, stride 1 and one column of padding, by Winograd's
// F(4, 3) along the columns: half of the multiplications. The rows of the kernel lie side by side,
// so that each point of a tile is one product over kernel_rows * in_channels.
namespace hiss::models {

// The filter at the six points, each (kernel_rows * in_channels, out_channels), with the kernel's
// rows in each cyclic order.
class WinogradWeight {
 public:
  // kResourceExhausted, kInternal.
  static Result<WinogradWeight> create(const Conv2d& conv);
  // Kernel row i at the place (i + turn) % kernel_rows.
  const PackedWeight& point(int64_t turn, int64_t i) const {
    return points_[static_cast<size_t>(turn * cpu::kTilePoints + i)];
  }

 private:
  std::vector<PackedWeight> points_;
};

// What one worker needs: the map's and the products' side of a row of tiles. The map's side keeps
// the kernel's rows, so that the next output row brings only one new.
struct WinogradScratch {
  float* input = nullptr;
  float* output = nullptr;
  static WinogradScratch carve(Carver& carver, int64_t cols, int64_t kernel_rows,
                               int64_t in_channels, int64_t out_channels);
};

// For rows of `cols` columns.
class WinogradPlan {
 public:
  // For every weight of this size. kResourceExhausted, kInternal.
  static Result<WinogradPlan> create(int64_t cols, const WinogradWeight& weight);

  // Output row `row` of conv(NormPrelu(in)), plus bias: out [cols, out_channels], `out_stride`
  // floats from one column to the next. follows: the last row that used this scratch was the one
  // a dilation before, of the same convolution and map.
  Status run_row(const Conv2d& conv, const WinogradWeight& weight, const Map& in,
                 const cpu::NormPrelu& norm, int64_t row, bool follows,
                 const WinogradScratch& scratch, float* out, int64_t out_stride) const;

 private:
  int64_t tiles_ = 0;
  PackedProduct product_;
};

}  // namespace hiss::models
