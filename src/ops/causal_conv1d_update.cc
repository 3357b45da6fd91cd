// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/causal_conv1d_update.h"

#include "ops/bound.h"
#include "ops/check.h"
#include "ops/outputs_apart.h"

namespace hiss {

using namespace ops;  // the pieces this file is made of

Status CausalConv1dUpdate::check(const Args& a) {
  HISS_RETURN_IF_ERROR(want_tensor("x", a.x, {DType::kF32, DType::kF16, DType::kBF16},
                                   {{"batch"}, {"ntokens"}, {"dim"}}));
  const int64_t batch = a.x.shape[0], ntokens = a.x.shape[1], dim = a.x.shape[2];
  HISS_RETURN_IF_ERROR(want_tensor("weight", a.weight, {DType::kF32}, {{"dim", dim}, {"width"}}));
  const int64_t width = a.weight.shape[1];
  if (width < 1) return InvalidArgument("weight: got width=0, want at least 1");
  HISS_RETURN_IF_ERROR(want_optional("bias", a.bias, {DType::kF32}, {{"dim", dim}}));
  HISS_RETURN_IF_ERROR(want_tensor("state", a.state, {DType::kF32},
                                   {{"nslots"}, {"width-1", width - 1}, {"dim", dim}}));
  HISS_RETURN_IF_ERROR(want_state_indices(a.state_indices, batch, a.state.shape[0], a.device));
  HISS_RETURN_IF_ERROR(want_optional(
      "snapshots", a.snapshots, {DType::kF32},
      {{"batch", batch}, {"ntokens", ntokens}, {"width-1", width - 1}, {"dim", dim}}));
  HISS_RETURN_IF_ERROR(
      want_tensor("y", a.y, {a.x.dtype}, {{"batch", batch}, {"ntokens", ntokens}, {"dim", dim}}));
  return want_outputs_apart<CausalConv1dUpdate>(a);
}

CausalConv1dUpdate::Problem CausalConv1dUpdate::describe(const Args& a) {
  return {.batch = a.x.shape[0],
          .ntokens = a.x.shape[1],
          .dim = a.x.shape[2],
          .width = a.weight.shape[1],
          .nslots = a.state.shape[0],
          .dtype = a.x.dtype,
          .precision = a.precision,
          .device = a.device,
          .activation = a.activation,
          .layout = common_layout({a.x, a.y}),
          .state_layout = common_layout({a.state}),
          .has_bias = a.bias.present(),
          .has_indices = a.state_indices.present(),
          .has_snapshots = a.snapshots.present()};
}

// As for causal_conv1d.
ErrorBound CausalConv1dUpdate::error_bound(const Problem& p) {
  return promise(16.0 + walk(p.width + 1), p.dtype, p.precision);
}

Status causal_conv1d_update(Context& context, const CausalConv1dUpdate::Args& args) {
  return run_operator<CausalConv1dUpdate>(context, args);
}

}  // namespace hiss
