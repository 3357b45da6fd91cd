// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/causal_conv1d.h"

#include "ops/bound.h"
#include "ops/check.h"
#include "ops/outputs_apart.h"

namespace hiss {

using namespace ops;  // the pieces this file is made of

Status CausalConv1d::check(const Args& a) {
  HISS_RETURN_IF_ERROR(want_tensor("x", a.x, {DType::kF32, DType::kF16, DType::kBF16},
                                   {{"batch"}, {"seqlen"}, {"dim"}}));
  const int64_t batch = a.x.shape[0], seqlen = a.x.shape[1], dim = a.x.shape[2];
  HISS_RETURN_IF_ERROR(want_tensor("weight", a.weight, {DType::kF32}, {{"dim", dim}, {"width"}}));
  const int64_t width = a.weight.shape[1];
  if (width < 1) return InvalidArgument("weight: got width=0, want at least 1");
  HISS_RETURN_IF_ERROR(want_optional("bias", a.bias, {DType::kF32}, {{"dim", dim}}));
  HISS_RETURN_IF_ERROR(want_cu_seqlens(a.cu_seqlens, batch, seqlen, a.device));
  const int64_t nseq = sequences(a.cu_seqlens, batch);
  HISS_RETURN_IF_ERROR(want_optional("initial_state", a.initial_state, {DType::kF32},
                                     {{"nseq", nseq}, {"width-1", width - 1}, {"dim", dim}}));
  HISS_RETURN_IF_ERROR(want_optional("final_state", a.final_state, {DType::kF32},
                                     {{"nseq", nseq}, {"width-1", width - 1}, {"dim", dim}}));
  HISS_RETURN_IF_ERROR(
      want_tensor("y", a.y, {a.x.dtype}, {{"batch", batch}, {"seqlen", seqlen}, {"dim", dim}}));
  return want_outputs_apart<CausalConv1d>(a, {{"final_state", "initial_state"}});
}

CausalConv1d::Problem CausalConv1d::describe(const Args& a) {
  return {.batch = a.x.shape[0],
          .seqlen = a.x.shape[1],
          .dim = a.x.shape[2],
          .width = a.weight.shape[1],
          .nseq = sequences(a.cu_seqlens, a.x.shape[0]),
          .dtype = a.x.dtype,
          .precision = a.precision,
          .device = a.device,
          .direction = a.direction,
          .activation = a.activation,
          .layout = common_layout({a.x, a.y}),
          .has_bias = a.bias.present(),
          .has_initial_state = a.initial_state.present(),
          .has_final_state = a.final_state.present(),
          .packed = a.cu_seqlens.present()};
}

// width + 1 terms; SiLU multiplies by a sigmoid that is good to a few units.
ErrorBound CausalConv1d::error_bound(const Problem& p) {
  return promise(16.0 + walk(p.width + 1), p.dtype, p.precision);
}

Status causal_conv1d(Context& context, const CausalConv1d::Args& args) {
  return run_operator<CausalConv1d>(context, args);
}

}  // namespace hiss
