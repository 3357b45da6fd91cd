// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "hiss/context.h"
#include "hiss/ops/common.h"

namespace hiss {

// A few tokens of causal_conv1d, with the last inputs kept in slots of a state cache (known as
// causal_conv1d_update): the decode step. Same formula; ntokens tokens one after another.
//
//   x              (batch, ntokens, dim)           F32, F16 or BF16
//   weight         (dim, width)                    F32
//   bias           (dim)                           F32, optional
//   state          (nslots, width-1, dim)          F32, read and written; oldest input first
//   state_indices  (batch)                         I32, optional: slot of each row,
//                                                  none twice; negative: padding, its y is zero
//                                                  and no state is touched. Without: row = slot
//   snapshots      (batch, ntokens, width-1, dim)  F32, optional output: the state after each
//                                                  token, to roll back to
//   y              (batch, ntokens, dim)           output, type of x
struct CausalConv1dUpdate {
  static constexpr std::string_view kName = "causal_conv1d_update";

  struct Problem {
    int64_t batch = 1, ntokens = 1, dim = 0, width = 4, nslots = 1;
    DType dtype = DType::kF32;
    Precision precision = Precision::kStandard;
    Device device = Device::kCpu;
    Activation activation = Activation::kNone;
    Layout layout = Layout::kChannelsLast;  // of x and y
    Layout state_layout = Layout::kChannelsLast;
    bool has_bias = false, has_indices = false, has_snapshots = false;
    bool operator==(const Problem&) const = default;
  };

  struct Args {
    ConstTensorView x, weight, bias;
    TensorView state;
    ConstTensorView state_indices;
    TensorView snapshots, y;
    Activation activation = Activation::kNone;
    Precision precision = Precision::kStandard;
    Device device = Device::kCpu;
  };

  static Status check(const Args& args);
  static Problem describe(const Args& args);
  // For y. States are copies: exact.
  static ErrorBound error_bound(const Problem& problem);

  template <class P, class F>
  static void for_each_field(P& p, F&& f) {
    f("batch", p.batch), f("ntokens", p.ntokens), f("dim", p.dim), f("width", p.width);
    f("nslots", p.nslots), f("dtype", p.dtype), f("precision", p.precision), f("device", p.device);
    f("activation", p.activation), f("layout", p.layout), f("state_layout", p.state_layout);
    f("has_bias", p.has_bias), f("has_indices", p.has_indices);
    f("has_snapshots", p.has_snapshots);
  }
};

Status causal_conv1d_update(Context& context, const CausalConv1dUpdate::Args& args);

}  // namespace hiss
