// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/nn/winograd.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace hiss::models {
using cpu::kTilePoints;

Result<WinogradWeight> WinogradWeight::create(const Conv2d& conv) {
  assert(conv.kernel_cols == 3 && conv.stride_rows == 1 && conv.stride_cols == 1 &&
         conv.pad_cols == 1);
  const int64_t tap = conv.in_channels * conv.out_channels;
  std::vector<float> at_point(static_cast<size_t>(conv.kernel_rows * tap));
  WinogradWeight weight;
  for (int64_t turn = 0; turn < conv.kernel_rows; ++turn)
    for (int64_t p = 0; p < kTilePoints; ++p) {
      for (int64_t i = 0; i < conv.kernel_rows; ++i)
        for (int64_t k = 0; k < tap; ++k) {
          double sum = 0;
          for (int64_t j = 0; j < 3; ++j)
            sum += double{cpu::kTileFilter[p][j]} * conv.weight[(i * 3 + j) * tap + k];
          const int64_t place = (i + turn) % conv.kernel_rows;
          at_point[static_cast<size_t>(place * tap + k)] = static_cast<float>(sum);
        }
      const ConstMatrix matrix{at_point.data(), conv.kernel_rows * conv.in_channels,
                               conv.out_channels, conv.out_channels};
      HISS_ASSIGN_OR_RETURN(PackedWeight packed,
                            PackedWeight::create(matrix, conv.out_channels, Operands::kF32));
      weight.points_.push_back(std::move(packed));
    }
  return weight;
}

WinogradScratch WinogradScratch::carve(Carver& carver, int64_t cols, int64_t kernel_rows,
                                       int64_t in_channels, int64_t out_channels) {
  const int64_t points = kTilePoints * cpu::tiles_of(cols);
  WinogradScratch s;
  s.input = carver.take<float>(points * kernel_rows * in_channels);
  s.output = carver.take<float>(points * out_channels);
  return s;
}

Result<WinogradPlan> WinogradPlan::create(int64_t cols, const WinogradWeight& weight) {
  WinogradPlan plan;
  plan.tiles_ = cpu::tiles_of(cols);
  HISS_ASSIGN_OR_RETURN(plan.product_,
                        PackedProduct::create(plan.tiles_, weight.point(0, 0), Write::kReplace));
  return plan;
}

Status WinogradPlan::run_row(const Conv2d& conv, const WinogradWeight& weight, const Map& in,
                             const cpu::NormPrelu& norm, int64_t row, bool follows,
                             const WinogradScratch& scratch, float* out, int64_t out_stride) const {
  const cpu::RowMath& math = cpu::row_math();
  const int64_t depth = conv.kernel_rows * conv.in_channels, outs = conv.out_channels;
  const int64_t turn = row / conv.dilation_rows % conv.kernel_rows;
  for (int64_t i = follows ? conv.kernel_rows - 1 : 0; i < conv.kernel_rows; ++i) {
    const int64_t in_row = row + i * conv.dilation_rows - conv.pad_rows;
    float* side = scratch.input + (i + turn) % conv.kernel_rows * conv.in_channels;
    if (in_row >= 0 && in_row < in.rows)
      math.winograd_input({in.row(in_row), in.cols, in.channels, in.stride}, norm,
                          {side, tiles_, tiles_ * depth, depth});
    else
      for (int64_t k = 0; k < kTilePoints * tiles_; ++k)
        std::fill_n(side + k * depth, conv.in_channels, 0.0f);
  }
  for (int64_t p = 0; p < kTilePoints; ++p)
    HISS_RETURN_IF_ERROR(product_.run(scratch.input + p * tiles_ * depth, weight.point(turn, p),
                                      scratch.output + p * tiles_ * outs));
  math.winograd_output({scratch.output, tiles_, tiles_ * outs, outs}, conv.bias,
                       {out, in.cols, outs, out_stride});
  return {};
}

}  // namespace hiss::models
