// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/selective_scan.h"

#include <cmath>

#include "ops/bound.h"
#include "ops/check.h"
#include "ops/outputs_apart.h"

namespace hiss {

using namespace ops;  // the pieces this file is made of

namespace {

Status check_shapes(const SelectiveScan::Args& a) {
  HISS_RETURN_IF_ERROR(want_tensor("u", a.u, {DType::kF32, DType::kF16, DType::kBF16},
                                   {{"batch"}, {"seqlen"}, {"dim"}}));
  const Dim batch{"batch", a.u.shape[0]}, seqlen{"seqlen", a.u.shape[1]}, dim{"dim", a.u.shape[2]};
  HISS_RETURN_IF_ERROR(want_tensor("dt", a.dt, {a.u.dtype}, {batch, seqlen, dim}));
  HISS_RETURN_IF_ERROR(want_tensor("A", a.A, {DType::kF32}, {dim, {"dstate"}}));
  const Dim dstate{"dstate", a.A.shape[1]};
  HISS_RETURN_IF_ERROR(want_tensor("B", a.B, {a.u.dtype}, {batch, seqlen, {"ngroups"}, dstate}));
  const Dim ngroups{"ngroups", a.B.shape[2]};
  if (ngroups.size < 1 || dim.size % ngroups.size != 0)
    return InvalidArgument("B: got ngroups=" + std::to_string(ngroups.size) +
                           ", want a divisor of dim=" + std::to_string(dim.size));
  HISS_RETURN_IF_ERROR(want_tensor("C", a.C, {a.u.dtype}, {batch, seqlen, ngroups, dstate}));
  HISS_RETURN_IF_ERROR(want_optional("D", a.D, {DType::kF32}, {dim}));
  HISS_RETURN_IF_ERROR(want_optional("z", a.z, {a.u.dtype}, {batch, seqlen, dim}));
  HISS_RETURN_IF_ERROR(want_optional("dt_bias", a.dt_bias, {DType::kF32}, {dim}));
  HISS_RETURN_IF_ERROR(want_dt_limit(a.dt_min, a.dt_max));
  HISS_RETURN_IF_ERROR(want_cu_seqlens(a.cu_seqlens, batch.size, seqlen.size, a.device));
  HISS_RETURN_IF_ERROR(want_checkpoint_tokens(a.checkpoint_tokens, a.cu_seqlens, seqlen.size,
                                              a.direction, a.device));
  const Dim nseq{"nseq", sequences(a.cu_seqlens, batch.size)};
  HISS_RETURN_IF_ERROR(
      want_optional("initial_state", a.initial_state, {DType::kF32}, {nseq, dim, dstate}));
  HISS_RETURN_IF_ERROR(
      want_optional("final_state", a.final_state, {DType::kF32}, {nseq, dim, dstate}));
  if (a.checkpoint_tokens.present() != a.checkpoint_states.present())
    return InvalidArgument("checkpoint_states: got " + to_string(a.checkpoint_states) +
                           ", want it together with checkpoint_tokens, which is " +
                           to_string(a.checkpoint_tokens));
  HISS_RETURN_IF_ERROR(
      want_optional("checkpoint_states", a.checkpoint_states, {DType::kF32},
                    {batch, {"ncheckpoints", a.checkpoint_tokens.shape[0]}, dim, dstate}));
  return want_tensor("y", a.y, {a.u.dtype}, {batch, seqlen, dim});
}

}  // namespace

Status SelectiveScan::check(const Args& a) {
  HISS_RETURN_IF_ERROR(check_shapes(a));
  return want_outputs_apart<SelectiveScan>(
      a, {{"y", "u"}, {"y", "z"}, {"final_state", "initial_state"}});
}

SelectiveScan::Problem SelectiveScan::describe(const Args& a) {
  return {
      .batch = a.u.shape[0],
      .seqlen = a.u.shape[1],
      .dim = a.u.shape[2],
      .dstate = a.A.shape[1],
      .ngroups = a.B.shape[2],
      .nseq = sequences(a.cu_seqlens, a.u.shape[0]),
      .ncheckpoints = a.checkpoint_tokens.present() ? a.checkpoint_tokens.shape[0] : 0,
      .dtype = a.u.dtype,
      .precision = a.precision,
      .device = a.device,
      .direction = a.direction,
      .layout = common_layout({a.u, a.dt, a.z, a.y}),
      .dense_bc = dense_along(a.B, 3) && dense_along(a.C, 3),
      .blocks_of_16 = in_blocks_of_16(a.u) && in_blocks_of_16(a.dt) && in_blocks_of_16(a.z) &&
                      in_blocks_of_16(a.y) && in_blocks_of_16(a.B) && in_blocks_of_16(a.C),
      .has_z = a.z.present(),
      .has_d = a.D.present(),
      .has_dt_bias = a.dt_bias.present(),
      .dt_softplus = a.dt_softplus,
      .dt_limit = std::isfinite(a.dt_min) || std::isfinite(a.dt_max),
      .a_is_log = a.A_is_log,
      .has_initial_state = a.initial_state.present(),
      .has_final_state = a.final_state.present(),
      .packed = a.cu_seqlens.present(),
  };
}

// Each state is a sum over the tokens it remembers, each output a sum over dstate of them.
ErrorBound SelectiveScan::error_bound(const Problem& p) {
  return promise(16.0 + walk(p.dstate) + walk(p.seqlen), p.dtype, p.precision);
}

Status selective_scan(Context& context, const SelectiveScan::Args& args) {
  return run_operator<SelectiveScan>(context, args);
}

}  // namespace hiss
