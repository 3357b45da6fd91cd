// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/conv_norm_act.h"

#include "models/nn/norm.h"
#include "models/nn/tasks.h"

namespace hiss::models::re_use {
namespace {

constexpr double kInstanceNormEpsilon = 1e-5;  // InstanceNorm2d's own; no checkpoint sets another

}  // namespace

ConvScratch ConvScratch::carve(Carver& carver, Executor& executor, int64_t rows, int64_t cols,
                               int64_t channels) {
  ConvScratch s;
  s.channels = channels;
  s.sums = carver.take<double>(rows * 2 * channels);
  s.mean = carver.take<float>(channels);
  s.scale = carver.take<float>(channels);
  s.tile_floats = cols * channels;
  s.tiles = carver.take<float>(executor.workers() * s.tile_floats);
  s.pending = carver.take<float>(4 * 4 * channels);
  for (int worker = 0; worker < executor.workers(); ++worker)
    s.winograd.push_back(WinogradScratch::carve(carver, cols, 3, 4 * channels, channels));
  s.executor = &executor;
  return s;
}

NormPrelu finish_norm(const ConvNormAct& w, int64_t rows, int64_t cols,
                      const ConvScratch& scratch) {
  finish_statistics(scratch.sums, rows, scratch.channels, rows * cols, w.norm_weight,
                    kInstanceNormEpsilon, scratch.mean, scratch.scale);
  return {scratch.mean, scratch.scale, w.norm_bias, w.prelu_weight};
}

Result<NormPrelu> convolve(const ConvNormAct& w, const Map& in, const Map& out,
                           const Placement& placement, const ConvScratch& scratch) {
  const int64_t d = out.channels;
  const int64_t rows = w.conv.out_rows(in.rows);
  const int64_t cols = w.conv.out_cols(in.cols) * placement.up_cols;
  const int64_t count = d * placement.up_cols;  // channels of the convolution in one output row
  const Status done = run_tasks(*scratch.executor, rows, [&](int64_t h, int worker) -> Status {
    for (int64_t i = 0; i < placement.up_rows; ++i) {
      const int64_t row = h * placement.up_rows + i;
      const bool kept = row % placement.keep_every == 0;
      float* y = kept ? out.row(row / placement.keep_every) : scratch.tile(worker);
      const int64_t stride = kept ? out.stride : d;
      HISS_RETURN_IF_ERROR(
          conv2d_row(w.conv, in, h, i * count, count, y, stride * placement.up_cols));
      cpu::row_math().channel_sums({y, cols, d, stride}, scratch.sums + row * 2 * d);
    }
    return {};
  });
  HISS_RETURN_IF_ERROR(done);
  return finish_norm(w, rows * placement.up_rows, cols, scratch);
}

void normalise(const NormPrelu& f, const Map& out, Executor& executor) {
  executor.run(out.rows, [&](int64_t h, int) {
    cpu::row_math().norm_prelu(f, {out.row(h), out.cols, out.channels, out.stride});
  });
}

Status conv_norm_act(const ConvNormAct& w, const Map& in, const Map& out,
                     const Placement& placement, const ConvScratch& scratch) {
  HISS_ASSIGN_OR_RETURN(const NormPrelu f, convolve(w, in, out, placement, scratch));
  normalise(f, out, *scratch.executor);
  return {};
}

}  // namespace hiss::models::re_use
