// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

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
// out: [rows, cols, d], or with `keep_every` k only rows 0, k, 2k ... of it.
Status dense_block(const DenseBlock& w, const Map& skip, const Map& out, int64_t keep_every,
                   const ConvScratch& scratch);

}  // namespace hiss::models::re_use
