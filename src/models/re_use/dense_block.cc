// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/dense_block.h"

#include <algorithm>

#include "models/nn/tasks.h"

namespace hiss::models::re_use {
namespace {

// Output rows of a task, a dilation apart: each needs one row of the map that the one before did
// not, and the first of them two more.
constexpr int64_t kTaskRows = 12;

// The norms of the channels of skip, [4, 4 d]: mean, scale, bias, slope.
class Pending {
 public:
  Pending(float* values, int64_t d) : values_(values), channels_(4 * d), d_(d) {}

  // Of the d channels from `first` on.
  void set(int64_t first, const NormPrelu& f) {
    const float* parts[] = {f.mean, f.scale, f.bias, f.slope};
    for (int64_t k = 0; k < 4; ++k) std::copy_n(parts[k], d_, values_ + k * channels_ + first);
  }
  void set_identity(int64_t first) {
    const float parts[] = {0, 1, 0, 1};
    for (int64_t k = 0; k < 4; ++k) std::fill_n(values_ + k * channels_ + first, d_, parts[k]);
  }
  NormPrelu from(int64_t first) const {
    return {values_ + first, values_ + channels_ + first, values_ + 2 * channels_ + first,
            values_ + 3 * channels_ + first};
  }

 private:
  float* values_;
  int64_t channels_, d_;
};

// Fills every keep_every'th row of the convolution of NormPrelu(in) into `out`, not normalised, and
// gives what normalises it.
Result<NormPrelu> run_stage(const ConvNormAct& w, const WinogradPlan& plan, const Map& in,
                            const NormPrelu& in_norm, const Map& out, int64_t keep_every,
                            const ConvScratch& scratch) {
  const int64_t d = out.channels, dilation = w.conv.dilation_rows;
  const int64_t rows_of_task = kTaskRows * dilation;
  const int64_t tasks = (in.rows + rows_of_task - 1) / rows_of_task * dilation;
  const Status done = run_tasks(*scratch.executor, tasks, [&](int64_t task, int worker) -> Status {
    const int64_t first = task / dilation * rows_of_task + task % dilation;
    const int64_t end = std::min(in.rows, first + rows_of_task);
    for (int64_t h = first; h < end; h += dilation) {
      const bool kept = h % keep_every == 0;
      float* y = kept ? out.row(h / keep_every) : scratch.tile(worker);
      const int64_t stride = kept ? out.stride : d;
      HISS_RETURN_IF_ERROR(plan.run_row(w.conv, w.winograd, in, in_norm, h, h != first,
                                        scratch.winograd[static_cast<size_t>(worker)], y, stride));
      cpu::row_math().channel_sums({y, in.cols, d, stride}, scratch.sums + h * 2 * d);
    }
    return {};
  });
  HISS_RETURN_IF_ERROR(done);
  return finish_norm(w, in.rows, in.cols, scratch);
}

}  // namespace

Result<DenseBlockPlan> DenseBlockPlan::create(int64_t cols, const DenseBlock& like) {
  DenseBlockPlan plan;
  for (size_t i = 0; i < plan.stages_.size(); ++i) {
    HISS_ASSIGN_OR_RETURN(plan.stages_[i],
                          WinogradPlan::create(cols, like.dense_block[i].winograd));
  }
  return plan;
}

Status DenseBlockPlan::run(const DenseBlock& w, const Map& skip, const NormPrelu* x_norm,
                           const Map& out, int64_t keep_every, const ConvScratch& scratch) const {
  const int64_t d = out.channels;
  Pending pending(scratch.pending, d);
  if (x_norm != nullptr)
    pending.set(3 * d, *x_norm);
  else
    pending.set_identity(3 * d);
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t from = (3 - i) * d, to = from - d;
    HISS_ASSIGN_OR_RETURN(const NormPrelu f,
                          run_stage(w.dense_block[static_cast<size_t>(i)],
                                    stages_[static_cast<size_t>(i)], skip.slice(from, 4 * d - from),
                                    pending.from(from), skip.slice(to, d), 1, scratch));
    pending.set(to, f);
  }
  HISS_ASSIGN_OR_RETURN(const NormPrelu f, run_stage(w.dense_block[3], stages_[3], skip,
                                                     pending.from(0), out, keep_every, scratch));
  normalise(f, out, *scratch.executor);
  return {};
}

}  // namespace hiss::models::re_use
