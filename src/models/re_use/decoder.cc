// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/decoder.h"

#include <algorithm>
#include <cmath>

#include "models/nn/matrix.h"
#include "models/nn/tasks.h"

namespace hiss::models::re_use {
namespace {

// The trunk: up to the raw output of up_conv2 in buffers.full, and what normalises it.
Result<NormPrelu> decode(const Decoder& w, const DenseBlockPlan& dense, const Map& tokens,
                         const DecoderBuffers& buffers) {
  const int64_t d = tokens.channels;
  const Map x = buffers.skip.slice(3 * d, d);
  for (int64_t i = 0; i < tokens.rows * tokens.cols; ++i)
    std::copy_n(tokens.data + i * tokens.stride, d, x.data + i * x.stride);
  HISS_RETURN_IF_ERROR(dense.run(w.dense_block, buffers.skip, /*x_norm=*/nullptr, buffers.dense,
                                 /*keep_every=*/1, buffers.conv));
  HISS_RETURN_IF_ERROR(conv_norm_act(w.up_conv1, buffers.dense, buffers.wide,
                                     {.up_cols = Shape::kColStride}, buffers.conv));
  return convolve(w.up_conv2, buffers.wide, buffers.full, {.up_rows = Shape::kRowStride},
                  buffers.conv);
}

// A 1x1 convolution from d channels to one.
struct Head {
  const float* weight;  // (d)
  const float* bias;    // (1)
};

// Frame t of NormPrelu(full), [F, d]: what lies beyond T and F is cropped by not being read.
const float* normalised_frame(const NormPrelu& f, const Shape& shape, const DecoderBuffers& buffers,
                              int64_t t, int worker) {
  float* x = buffers.conv.tile(worker);
  std::copy_n(buffers.full.row(t), shape.bins * shape.channels, x);
  cpu::row_math().norm_prelu(f, {x, shape.bins, shape.channels, shape.channels});
  return x;
}

// x [F, d] -> out [F].
Status run_head(const Head& head, const Shape& shape, const float* x, float* out) {
  const int64_t d = shape.channels;
  HISS_RETURN_IF_ERROR(
      matrix_product({x, shape.bins, d, d}, {head.weight, d, 1, 1}, {out, shape.bins, 1, 1}));
  for (int64_t i = 0; i < shape.bins; ++i) out[i] += *head.bias;
  return {};
}

}  // namespace

DecoderBuffers DecoderBuffers::carve(Carver& carver, const Shape& shape, Executor& executor) {
  const int64_t rows = shape.token_rows, cols = shape.token_cols, d = shape.channels;
  const int64_t full_rows = rows * Shape::kRowStride, full_cols = cols * Shape::kColStride;
  DecoderBuffers b;
  b.skip = carver.map(rows, cols, 4 * d);
  b.dense = carver.map(rows, cols, d);
  b.wide = carver.map(rows, full_cols, d);
  b.full = carver.map(full_rows, full_cols, d);
  b.heads = carver.take<float>(executor.workers() * shape.bins * 2);
  b.conv = ConvScratch::carve(carver, executor, full_rows, full_cols, d);
  return b;
}

Status decode_mask(const MaskDecoder& w, const DenseBlockPlan& dense, const Shape& shape,
                   const Map& tokens, const DecoderBuffers& buffers, float* log_magnitude) {
  HISS_ASSIGN_OR_RETURN(const NormPrelu f, decode(w, dense, tokens, buffers));
  const Head final_conv{w.final_conv_weight, w.final_conv_bias};
  return run_tasks(*buffers.conv.executor, shape.frames, [&](int64_t t, int worker) {
    const float* x = normalised_frame(f, shape, buffers, t, worker);
    return run_head(final_conv, shape, x, log_magnitude + t * shape.bins);
  });
}

Status decode_phase(const PhaseDecoder& w, const DenseBlockPlan& dense, const Shape& shape,
                    const Map& tokens, const DecoderBuffers& buffers, float* phase) {
  HISS_ASSIGN_OR_RETURN(const NormPrelu f, decode(w, dense, tokens, buffers));
  const Head phase_conv_r{w.phase_conv_r_weight, w.phase_conv_r_bias};
  const Head phase_conv_i{w.phase_conv_i_weight, w.phase_conv_i_bias};
  return run_tasks(*buffers.conv.executor, shape.frames, [&](int64_t t, int worker) -> Status {
    const float* x = normalised_frame(f, shape, buffers, t, worker);
    float* r = buffers.heads + worker * shape.bins * 2;
    float* i = r + shape.bins;
    HISS_RETURN_IF_ERROR(run_head(phase_conv_r, shape, x, r));
    HISS_RETURN_IF_ERROR(run_head(phase_conv_i, shape, x, i));
    for (int64_t k = 0; k < shape.bins; ++k) phase[t * shape.bins + k] = std::atan2(i[k], r[k]);
    return {};
  });
}

}  // namespace hiss::models::re_use
