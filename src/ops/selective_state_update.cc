// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/selective_state_update.h"

#include <cmath>

#include "ops/bound.h"
#include "ops/check.h"
#include "ops/outputs_apart.h"

namespace hiss {

using namespace ops;  // the pieces this file is made of

namespace {

Status check_shapes(const SelectiveStateUpdate::Args& a) {
  HISS_RETURN_IF_ERROR(want_tensor("x", a.x, {DType::kF32, DType::kF16, DType::kBF16},
                                   {{"batch"}, {"ntokens"}, {"nheads"}, {"headdim"}}));
  const Dim batch{"batch", a.x.shape[0]}, ntokens{"ntokens", a.x.shape[1]};
  const Dim nheads{"nheads", a.x.shape[2]}, headdim{"headdim", a.x.shape[3]};
  HISS_RETURN_IF_ERROR(
      want_tensor("dt", a.dt, {a.x.dtype, DType::kF32}, {batch, ntokens, nheads, headdim}));
  HISS_RETURN_IF_ERROR(want_tensor("A", a.A, {DType::kF32}, {nheads, headdim, {"dstate"}}));
  const Dim dstate{"dstate", a.A.shape[2]};
  HISS_RETURN_IF_ERROR(want_tensor("B", a.B, {a.x.dtype}, {batch, ntokens, {"ngroups"}, dstate}));
  const Dim ngroups{"ngroups", a.B.shape[2]};
  if (ngroups.size < 1 || nheads.size % ngroups.size != 0)
    return InvalidArgument("B: got ngroups=" + std::to_string(ngroups.size) +
                           ", want a divisor of nheads=" + std::to_string(nheads.size));
  HISS_RETURN_IF_ERROR(want_tensor("C", a.C, {a.x.dtype}, {batch, ntokens, ngroups, dstate}));
  HISS_RETURN_IF_ERROR(want_optional("D", a.D, {DType::kF32}, {nheads, headdim}));
  HISS_RETURN_IF_ERROR(want_optional("z", a.z, {a.x.dtype}, {batch, ntokens, nheads, headdim}));
  HISS_RETURN_IF_ERROR(want_optional("dt_bias", a.dt_bias, {DType::kF32}, {nheads, headdim}));
  HISS_RETURN_IF_ERROR(want_dt_limit(a.dt_min, a.dt_max));
  HISS_RETURN_IF_ERROR(want_tensor("state", a.state, {DType::kF32, DType::kF16, DType::kBF16},
                                   {{"nslots"}, nheads, headdim, dstate}));
  HISS_RETURN_IF_ERROR(want_state_indices(a.state_indices, batch.size, a.state.shape[0], a.device));
  HISS_RETURN_IF_ERROR(want_optional("initial_states", a.initial_states, {a.state.dtype},
                                     {batch, nheads, headdim, dstate}));
  HISS_RETURN_IF_ERROR(want_optional("snapshots", a.snapshots, {a.state.dtype},
                                     {batch, ntokens, nheads, headdim, dstate}));
  return want_tensor("y", a.y, {a.x.dtype}, {batch, ntokens, nheads, headdim});
}

}  // namespace

Status SelectiveStateUpdate::check(const Args& a) {
  HISS_RETURN_IF_ERROR(check_shapes(a));
  return want_outputs_apart<SelectiveStateUpdate>(a);
}

SelectiveStateUpdate::Problem SelectiveStateUpdate::describe(const Args& a) {
  return {
      .batch = a.x.shape[0],
      .ntokens = a.x.shape[1],
      .nheads = a.x.shape[2],
      .headdim = a.x.shape[3],
      .dstate = a.A.shape[2],
      .ngroups = a.B.shape[2],
      .nslots = a.state.shape[0],
      .dtype = a.x.dtype,
      .dt_dtype = a.dt.dtype,
      .state_dtype = a.state.dtype,
      .precision = a.precision,
      .device = a.device,
      .tied = constant_along(a.A, 1) && constant_along(a.A, 2) && constant_along(a.dt, 3) &&
              constant_along(a.dt_bias, 1),
      .dense = dense_along(a.x, 3) && dense_along(a.z, 3) && dense_along(a.y, 3) &&
               dense_along(a.B, 3) && dense_along(a.C, 3) && dense_along(a.state, 3) &&
               dense_along(a.initial_states, 3) && dense_along(a.snapshots, 4),
      .has_z = a.z.present(),
      .has_d = a.D.present(),
      .has_dt_bias = a.dt_bias.present(),
      .dt_softplus = a.dt_softplus,
      .dt_limit = std::isfinite(a.dt_min) || std::isfinite(a.dt_max),
      .a_is_log = a.A_is_log,
      .has_indices = a.state_indices.present(),
      .has_initial_states = a.initial_states.present(),
      .has_snapshots = a.snapshots.present(),
  };
}

// As for ssd_chunk_scan.
ErrorBound SelectiveStateUpdate::error_bound(const Problem& p) {
  double units = 16.0 + walk(p.dstate) + walk(p.ntokens);
  if (p.state_dtype != DType::kF32)
    units +=
        (1.0 + 2.0 * walk(p.ntokens)) * unit_roundoff(p.state_dtype) / unit_roundoff(DType::kF32);
  return promise(units, p.dtype, p.precision);
}

Status selective_state_update(Context& context, const SelectiveStateUpdate::Args& args) {
  return run_operator<SelectiveStateUpdate>(context, args);
}

}  // namespace hiss
