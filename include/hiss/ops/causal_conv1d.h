// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "hiss/context.h"
#include "hiss/ops/common.h"

namespace hiss {

// Depthwise causal convolution over time, Mamba's short filter (Gu & Dao 2023, section 3.4; known
// as causal_conv1d_fn, ggml's SSM_CONV, SpeechLens's MetalCausalConv1d).
//
//   y[b,t,d] = act( bias[d] + sum_{k=0..width-1} weight[d,k] * x[b, t-(width-1)+k, d] )
//
// with act = identity or SiLU, v / (1 + exp(-v)). Inputs before the first token of a sequence are
// the rows of initial_state, zeros without it.
//
//   x              (batch, seqlen, dim)       F32, F16 or BF16
//   weight         (dim, width)               F32; weight[d, width-1] meets the current token
//   bias           (dim)                      F32, optional
//   initial_state  (nseq, width-1, dim)       F32, optional; oldest input first
//   final_state    (nseq, width-1, dim)       F32, optional output: the last width-1 inputs
//   y              (batch, seqlen, dim)       output, type of x
//   cu_seqlens     (nseq + 1)                 optional, see ops/common.h
//
// final_state may be the memory of initial_state. seqlen 0 copies initial_state (or zeros) to
// final_state. Any width >= 1, any dim and batch, 0 included.
struct CausalConv1d {
  static constexpr std::string_view kName = "causal_conv1d";

  struct Problem {
    int64_t batch = 1, seqlen = 0, dim = 0, width = 4, nseq = 1;
    DType dtype = DType::kF32;
    Precision precision = Precision::kStandard;
    Device device = Device::kCpu;
    Direction direction = Direction::kForward;
    Activation activation = Activation::kNone;
    Layout layout = Layout::kChannelsLast;  // of x and y; they differ: kStrided
    bool has_bias = false, has_initial_state = false, has_final_state = false, packed = false;
    bool operator==(const Problem&) const = default;
  };

  struct Args {
    ConstTensorView x, weight, bias, initial_state;
    TensorView final_state, y;
    ConstTensorView cu_seqlens;
    Activation activation = Activation::kNone;
    Direction direction = Direction::kForward;
    Precision precision = Precision::kStandard;
    Device device = Device::kCpu;
  };

  // kInvalidArgument names the tensor, what it is and what it should be.
  static Status check(const Args& args);
  // Of checked arguments.
  static Problem describe(const Args& args);
  // What every kernel that accepts this problem promises for y. States are copies: exact.
  static ErrorBound error_bound(const Problem& problem);

  // f("batch", problem.batch) ... for each field: printing, parsing and hashing.
  template <class P, class F>
  static void for_each_field(P& p, F&& f) {
    f("batch", p.batch), f("seqlen", p.seqlen), f("dim", p.dim), f("width", p.width);
    f("nseq", p.nseq), f("dtype", p.dtype), f("precision", p.precision), f("device", p.device);
    f("direction", p.direction), f("activation", p.activation), f("layout", p.layout);
    f("has_bias", p.has_bias), f("has_initial_state", p.has_initial_state);
    f("has_final_state", p.has_final_state), f("packed", p.packed);
  }
};

Status causal_conv1d(Context& context, const CausalConv1d::Args& args);

}  // namespace hiss
