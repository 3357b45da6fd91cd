// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <set>
#include <string>

#include "hiss/ops/causal_conv1d.h"
#include "hiss/ops/selective_scan.h"
#include "models/nn/carver.h"
#include "models/nn/matrix.h"
#include "models/nn/packed_product.h"
#include "models/re_use/stage_times.h"
#include "models/re_use/weights.h"

namespace hiss::models::re_use {

// The most tokens that go through a Mamba direction together, so that all they need in between
// stays in cache. A sequence is cut into equal runs; the convolution's and the scan's states carry
// over, so the cut changes no result. Depends on the configuration only.
int64_t run_tokens(const ReUseConfig& config);

// The intermediates of one run of n tokens, for one worker.
struct MambaScratch {
  float* xz = nullptr;          // [n, 2E]
  float* u = nullptr;           // [n, E]; the scan's y after it
  uint16_t* rounded = nullptr;  // [n, E]: u, then y, as bf16 operands
  float* dt_B_C = nullptr;      // [n, R + 2N, and zeros]
  float* dt = nullptr;          // [n, E]
  float* conv_state = nullptr;  // [K - 1, E]
  float* scan_state = nullptr;  // [N, E]
  std::span<std::byte> workspace;

  StageTimes* times = nullptr;  // nullptr: not measured

  static MambaScratch carve(Carver& carver, const ReUseConfig& config, size_t workspace_bytes);
};

// One direction of Mamba-1 over sequences of one length: the chosen kernels.
class MambaPlan {
 public:
  // kUnsupported: no kernel, or the forced one declines.
  // `like`: packed weights, which every later run's have the sizes and operands of.
  static Result<MambaPlan> create(const Context& context, const ReUseConfig& config,
                                  const Mamba& like, int64_t seqlen, Direction direction,
                                  Precision precision);
  size_t workspace_bytes() const;
  void add_kernels(std::set<std::string>& names) const;

  // y [seqlen, d] += M(x), x [seqlen, d]: of one sequence, on the calling thread. x is of the
  // operands' type.
  Status run(const Mamba& w, const void* x, float* y, const MambaScratch& scratch) const;

 private:
  struct Kernels {
    Plan<CausalConv1d> conv;
    Plan<SelectiveScan> scan;
    PackedProduct in_proj, x_proj, out_proj;
  };
  CausalConv1d::Args conv_args(const Mamba& w, int64_t n, const MambaScratch& s) const;
  SelectiveScan::Args scan_args(const Mamba& w, int64_t n, const MambaScratch& s) const;
  Result<Kernels> choose(const Context& context, const Mamba& like, int64_t n) const;
  Status run_part(const Mamba& w, const Kernels& kernels, int64_t n, const void* x, float* y,
                  const MambaScratch& s) const;
  // n rows of u as the products' operands.
  const void* as_operands(const MambaScratch& s, int64_t n) const;

  int64_t d_ = 0, e_ = 0, n_ = 0, r_ = 0, k_ = 0;
  int64_t row_ = 0;  // of dt_B_C
  Operands operands_ = Operands::kF32;
  int64_t seqlen_ = 0, tokens_ = 0;
  Direction direction_ = Direction::kForward;
  Precision precision_ = Precision::kStandard;
  std::optional<Kernels> whole_, rest_;  // for runs of tokens_ tokens, and for what is left
};

}  // namespace hiss::models::re_use
