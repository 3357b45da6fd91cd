// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "models/re_use/dense_block.h"
#include "models/re_use/shape.h"

namespace hiss::models::re_use {

struct EncoderBuffers {
  Map features;  // [T + 2, F + 2, 2]: log magnitude, phase, and two zero rows and columns at the
                 // end
  Map skip;      // [T + 2, F + 2, 4 d]
  Map kept;      // [T', F + 2, d]: every fourth row of the dense block
  ConvScratch conv;
  static EncoderBuffers carve(Carver& carver, const Shape& shape, Executor& executor);
};

// log_magnitude, phase [T, F] -> out [T', F', d]. The plan is for rows of F + 2 columns.
Status encode(const Encoder& w, const DenseBlockPlan& dense, const Shape& shape,
              const float* log_magnitude, const float* phase, const EncoderBuffers& buffers,
              const Map& out);

}  // namespace hiss::models::re_use
