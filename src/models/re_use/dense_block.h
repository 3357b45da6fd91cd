// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>

#include "models/re_use/conv_norm_act.h"

namespace hiss::models::re_use {

// Four convolutions, each of which sees the input and all results before it, newest first.
//
// The concatenations are never built: `skip` [rows, cols, 4 d] has room for all of them, so that
// stage i reads its last (i + 1) d channels and writes the d before those.
//
//   channels of skip:   y2 | y1 | y0 | x        x is put there by the caller
//   stage 0 reads                     x
//   stage 1 reads                y0 | x
//   stage 2 reads           y1 | y0 | x
//   stage 3 reads      y2 | y1 | y0 | x         and writes `out`
//
// Nor are the maps of skip normalised: they stay as the convolutions left them, and who reads them
// applies norm and activation, so that no sweep over a map is for that alone.
class DenseBlockPlan {
 public:
  // For maps of `cols` columns and blocks with weights of `like`'s sizes.
  static Result<DenseBlockPlan> create(int64_t cols, const DenseBlock& like);

  // out: [rows, cols, d], or with `keep_every` k only rows 0, k, 2k ... of it. x_norm: what x is
  // to be normalised with; nullptr: x is what it is.
  Status run(const DenseBlock& w, const Map& skip, const NormPrelu* x_norm, const Map& out,
             int64_t keep_every, const ConvScratch& scratch) const;

 private:
  std::array<WinogradPlan, 4> stages_;
};

}  // namespace hiss::models::re_use
