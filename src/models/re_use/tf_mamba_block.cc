// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/tf_mamba_block.h"

#include <algorithm>

#include "cpu/simd/row_math.h"
#include "models/nn/tasks.h"

namespace hiss::models::re_use {

SequenceScratch SequenceScratch::carve(Carver& carver, const ReUseConfig& config, int64_t length,
                                       size_t workspace_bytes) {
  SequenceScratch s;
  s.x = carver.take<float>(length * config.channels);
  s.forward = carver.take<float>(length * config.channels);
  s.backward = carver.take<float>(length * config.channels);
  s.rounded = carver.take<uint16_t>(length * config.channels);
  s.merged = carver.take<float>(length * config.channels);
  s.mamba = MambaScratch::carve(carver, config, workspace_bytes);
  return s;
}

Result<TFMambaPlan::Axis> TFMambaPlan::plan_axis(const Context& context, const ReUseConfig& config,
                                                 const BiMamba& like, Axis axis,
                                                 Precision precision) {
  HISS_ASSIGN_OR_RETURN(axis.forward,
                        MambaPlan::create(context, config, like.forward_blocks, axis.length,
                                          Direction::kForward, precision));
  HISS_ASSIGN_OR_RETURN(axis.backward,
                        MambaPlan::create(context, config, like.backward_blocks, axis.length,
                                          Direction::kReverse, precision));
  HISS_ASSIGN_OR_RETURN(
      axis.merge_forward,
      PackedProduct::create(axis.length, like.packed_output_forward, Write::kReplace));
  HISS_ASSIGN_OR_RETURN(
      axis.merge_backward,
      PackedProduct::create(axis.length, like.packed_output_backward, Write::kAdd));
  return axis;
}

Result<TFMambaPlan> TFMambaPlan::create(const Context& context, const ReUseConfig& config,
                                        const TFMamba& like, int64_t rows, int64_t cols,
                                        Precision precision) {
  TFMambaPlan plan;
  plan.operands_ = operands_for(precision, context.machine());
  plan.d_ = config.channels;
  plan.epsilon_ = static_cast<float>(config.norm_epsilon);
  const int64_t d = config.channels;
  const Axis time{
      .sequences = cols, .length = rows, .sequence_stride = d, .token_stride = cols * d};
  const Axis freq{
      .sequences = rows, .length = cols, .sequence_stride = cols * d, .token_stride = d};
  HISS_ASSIGN_OR_RETURN(plan.time_, plan_axis(context, config, like.time_mamba, time, precision));
  HISS_ASSIGN_OR_RETURN(plan.freq_, plan_axis(context, config, like.freq_mamba, freq, precision));
  return plan;
}

size_t TFMambaPlan::workspace_bytes() const {
  return std::max({time_.forward.workspace_bytes(), time_.backward.workspace_bytes(),
                   freq_.forward.workspace_bytes(), freq_.backward.workspace_bytes()});
}

void TFMambaPlan::add_kernels(std::set<std::string>& names) const {
  for (const Axis* axis : {&time_, &freq_}) {
    axis->forward.add_kernels(names);
    axis->backward.add_kernels(names);
  }
}

Status TFMambaPlan::run(const TFMamba& w, const Map& tokens,
                        const std::vector<SequenceScratch>& scratch, Executor& executor) const {
  HISS_RETURN_IF_ERROR(run_axis(time_, w.time_mamba, tokens, scratch, executor));
  return run_axis(freq_, w.freq_mamba, tokens, scratch, executor);
}

Status TFMambaPlan::run_axis(const Axis& axis, const BiMamba& w, const Map& tokens,
                             const std::vector<SequenceScratch>& scratch,
                             Executor& executor) const {
  return run_tasks(executor, axis.sequences, [&](int64_t i, int worker) {
    return run_sequence(axis, w, tokens.data + i * axis.sequence_stride,
                        scratch[static_cast<size_t>(worker)]);
  });
}

const void* TFMambaPlan::as_operands(const float* x, int64_t rows, uint16_t* rounded) const {
  if (operands_ == Operands::kF32) return x;
  cpu::row_math().to_bf16(x, rows * d_, rounded);
  return rounded;
}

// x -> LayerNorm(Linear([M_forward(x) + x, M_backward(x) + x])) + x
Status TFMambaPlan::run_sequence(const Axis& axis, const BiMamba& w, float* tokens,
                                 const SequenceScratch& scratch) const {
  const int64_t length = axis.length;
  float *forward = scratch.forward, *backward = scratch.backward;
  StageClock clock(scratch.mamba.times);
  for (int64_t t = 0; t < length; ++t) {
    const float* token = tokens + t * axis.token_stride;
    std::copy_n(token, d_, scratch.x + t * d_);
    std::copy_n(token, d_, forward + t * d_);
    std::copy_n(token, d_, backward + t * d_);
  }
  const void* x = as_operands(scratch.x, length, scratch.rounded);
  clock.lap(Stage::kMerge);
  HISS_RETURN_IF_ERROR(axis.forward.run(w.forward_blocks, x, forward, scratch.mamba));
  HISS_RETURN_IF_ERROR(axis.backward.run(w.backward_blocks, x, backward, scratch.mamba));

  StageClock merge_clock(scratch.mamba.times);
  HISS_RETURN_IF_ERROR(axis.merge_forward.run(as_operands(forward, length, scratch.rounded),
                                              w.packed_output_forward, scratch.merged));
  HISS_RETURN_IF_ERROR(axis.merge_backward.run(as_operands(backward, length, scratch.rounded),
                                               w.packed_output_backward, scratch.merged));
  const cpu::LayerNorm norm{w.output_proj_bias, w.norm_weight, w.norm_bias, epsilon_};
  cpu::row_math().layer_norm_residual(norm, {scratch.merged, length, d_, d_},
                                      {scratch.x, length, d_, d_},
                                      {tokens, length, d_, axis.token_stride});
  merge_clock.lap(Stage::kMerge);
  return {};
}

}  // namespace hiss::models::re_use
