// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/encoder.h"

#include <algorithm>

namespace hiss::models::re_use {

EncoderBuffers EncoderBuffers::carve(Carver& carver, const Shape& shape, Executor& executor) {
  const int64_t rows = shape.padded_frames, cols = shape.padded_bins, d = shape.channels;
  EncoderBuffers b;
  b.features = carver.map(rows, cols, 2);
  b.skip = carver.map(rows, cols, 4 * d);
  b.kept = carver.map(shape.token_rows, cols, d);
  b.conv = ConvScratch::carve(carver, executor, rows, cols, d);
  return b;
}

Status encode(const Encoder& w, const DenseBlockPlan& dense, const Shape& shape,
              const float* log_magnitude, const float* phase, const EncoderBuffers& buffers,
              const Map& out) {
  const Map& features = buffers.features;
  std::fill_n(features.data, features.rows * features.cols * 2, 0.0f);
  for (int64_t t = 0; t < shape.frames; ++t)
    for (int64_t f = 0; f < shape.bins; ++f) {
      features.row(t)[2 * f] = log_magnitude[t * shape.bins + f];
      features.row(t)[2 * f + 1] = phase[t * shape.bins + f];
    }
  const int64_t d = shape.channels;
  HISS_ASSIGN_OR_RETURN(
      const NormPrelu f,
      convolve(w.dense_conv_1, features, buffers.skip.slice(3 * d, d), {}, buffers.conv));
  HISS_RETURN_IF_ERROR(
      dense.run(w.dense_block, buffers.skip, &f, buffers.kept, Shape::kRowStride, buffers.conv));
  return conv_norm_act(w.dense_conv_2, buffers.kept, out, {}, buffers.conv);
}

}  // namespace hiss::models::re_use
