// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <set>
#include <string>
#include <vector>

#include "hiss/context.h"
#include "models/nn/map.h"
#include "models/re_use/mamba.h"

namespace hiss::models::re_use {

// What one worker needs for one sequence of up to L tokens.
struct SequenceScratch {
  float* x = nullptr;           // [L, d]
  float* forward = nullptr;     // [L, d]
  float* backward = nullptr;    // [L, d]
  uint16_t* rounded = nullptr;  // [L, d]: x, then each direction, as bf16 operands
  float* merged = nullptr;      // [L, d]
  MambaScratch mamba;
  static SequenceScratch carve(Carver& carver, const ReUseConfig& config, int64_t length,
                               size_t workspace_bytes);
};

// Mamba along time, then along frequency, both ways each. Every sequence is one task that a worker
// runs from end to end.
class TFMambaPlan {
 public:
  // For maps of `rows` (time) x `cols` (frequency) tokens.
  // `like`: packed weights, which every later run's have the sizes and operands of.
  static Result<TFMambaPlan> create(const Context& context, const ReUseConfig& config,
                                    const TFMamba& like, int64_t rows, int64_t cols,
                                    Precision precision);
  size_t workspace_bytes() const;
  void add_kernels(std::set<std::string>& names) const;

  // tokens [rows, cols, d], dense, in place. One scratch a worker.
  Status run(const TFMamba& w, const Map& tokens, const std::vector<SequenceScratch>& scratch,
             Executor& executor) const;

 private:
  // The plans of one axis, and how its sequences lie in the map.
  struct Axis {
    int64_t sequences = 0, length = 0;
    int64_t sequence_stride = 0, token_stride = 0;  // in floats
    MambaPlan forward{}, backward{};
    PackedProduct merge_forward{}, merge_backward{};
  };
  static Result<Axis> plan_axis(const Context& context, const ReUseConfig& config,
                                const BiMamba& like, Axis axis, Precision precision);
  Status run_axis(const Axis& axis, const BiMamba& w, const Map& tokens,
                  const std::vector<SequenceScratch>& scratch, Executor& executor) const;
  Status run_sequence(const Axis& axis, const BiMamba& w, float* tokens,
                      const SequenceScratch& scratch) const;

  // Dense rows of d floats as the products' operands.
  const void* as_operands(const float* x, int64_t rows, uint16_t* rounded) const;

  int64_t d_ = 0;
  Operands operands_ = Operands::kF32;
  float epsilon_ = 1e-5f;
  Axis time_, freq_;
};

}  // namespace hiss::models::re_use
