// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hiss/executor.h"
#include "hiss/status.h"
#include "models/nn/carver.h"
#include "models/nn/map.h"
#include "models/nn/winograd.h"
#include "models/re_use/weights.h"

namespace hiss::models::re_use {

using cpu::NormPrelu;

// What the convolutions need besides their maps; one at a time uses it.
struct ConvScratch {
  int64_t channels = 0;
  double* sums = nullptr;  // [rows, 2, channels]
  float* mean = nullptr;   // [channels]
  float* scale = nullptr;  // [channels]
  float* tiles = nullptr;  // [workers, tile_floats], one row of a map each
  int64_t tile_floats = 0;
  float* pending = nullptr;               // [4, 4 channels]: see dense_block.h
  std::vector<WinogradScratch> winograd;  // one a worker
  Executor* executor = nullptr;

  // For output maps of up to rows x cols x channels.
  static ConvScratch carve(Carver& carver, Executor& executor, int64_t rows, int64_t cols,
                           int64_t channels);
  float* tile(int worker) const { return tiles + worker * tile_floats; }
};

// How the convolution's result becomes the output map.
struct Placement {
  // Sub-pixel layers: out channel (i * up_cols + j) * d + c of the convolution's row h and column w
  // is channel c at row h * up_rows + i, column w * up_cols + j. One of the two is 1.
  int64_t up_rows = 1, up_cols = 1;
  // Rows h that are no multiple of it count in the statistics, and are then dropped.
  int64_t keep_every = 1;
};

// mean and scale from scratch.sums, `rows` of `cols` columns, and what they make with w's norm and
// activation.
NormPrelu finish_norm(const ConvNormAct& w, int64_t rows, int64_t cols, const ConvScratch& scratch);

// The convolution and the norm's statistics: fills `out`, not yet normalised, and gives what
// normalises it (in the scratch: valid until the next call). `out` may be other channels of the map
// that `in` is a slice of.
Result<NormPrelu> convolve(const ConvNormAct& w, const Map& in, const Map& out,
                           const Placement& placement, const ConvScratch& scratch);

// out = f(out).
void normalise(const NormPrelu& f, const Map& out, Executor& executor);

// All three: out = PReLU(InstanceNorm(Conv(in))).
Status conv_norm_act(const ConvNormAct& w, const Map& in, const Map& out,
                     const Placement& placement, const ConvScratch& scratch);

}  // namespace hiss::models::re_use
