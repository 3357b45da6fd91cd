// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "models/re_use/decoder.h"
#include "models/re_use/encoder.h"
#include "models/re_use/re_use.h"
#include "models/re_use/tf_mamba_block.h"

namespace hiss::models::re_use {

// RE-USE on one thread pool: weights, and the memory and the plans of the last shape run.
class Network final : public ReUse {
 public:
  // `context` must outlive it. kUnsupported: no kernel, or a forced one declines.
  static Result<std::unique_ptr<ReUse>> create(const ReUseConfig& config, Weights weights,
                                               Context& context, Precision precision);

  const ReUseConfig& config() const override { return config_; }
  int64_t parameters() const override { return weights_.parameters; }
  std::vector<std::string> kernels() const override;
  Status run(const SpectrumBatch& spectrum, Activations* dump) override;

  // From now on adds up where time goes: one StageTimes a worker, or nullptr to stop.
  void measure(StageTimes* times);
  // What the runs so far have taken besides the weights.
  size_t memory_bytes() const { return memory_.capacity(); }

 private:
  Network(const ReUseConfig& config, Weights weights, Context& context, Precision precision)
      : config_(config), weights_(std::move(weights)), context_(context), precision_(precision) {}
  // Plans, memory and buffers for a shape, kept until another one is asked for.
  Status prepare(const Shape& shape);
  size_t lay_out(const Shape& shape, std::byte* memory);
  Status run_item(float* log_magnitude, float* phase, Activations* dump);

  ReUseConfig config_;
  Weights weights_;
  Context& context_;
  Precision precision_;
  TFMambaPlan plan_;
  DenseBlockPlan encoder_dense_, decoder_dense_;
  Shape shape_;
  Arena memory_;
  Map tokens_;  // [T', F', d]
  EncoderBuffers encoder_;
  DecoderBuffers decoder_;                  // shares its memory with the encoder's
  std::vector<SequenceScratch> sequences_;  // one a worker; shares it too
  StageTimes* times_ = nullptr;
};

}  // namespace hiss::models::re_use
