// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "models/re_use/dense_block.h"
#include "models/re_use/shape.h"

namespace hiss::models::re_use {

struct DecoderBuffers {
  Map skip;                // [T', F', 4 d]
  Map dense;               // [T', F', d]
  Map wide;                // [T', 2 F', d]
  Map full;                // [4 T', 2 F', d]
  float* heads = nullptr;  // [workers, F, 2]
  ConvScratch conv;
  static DecoderBuffers carve(Carver& carver, const Shape& shape, Executor& executor);
};

// The plans are for rows of F' columns.
//
// tokens [T', F', d] -> log_magnitude [T, F], which may be negative.
Status decode_mask(const MaskDecoder& w, const DenseBlockPlan& dense, const Shape& shape,
                   const Map& tokens, const DecoderBuffers& buffers, float* log_magnitude);

// tokens [T', F', d] -> phase [T, F] in (-pi, pi].
Status decode_phase(const PhaseDecoder& w, const DenseBlockPlan& dense, const Shape& shape,
                    const Map& tokens, const DecoderBuffers& buffers, float* phase);

}  // namespace hiss::models::re_use
