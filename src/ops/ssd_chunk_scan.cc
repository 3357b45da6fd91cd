// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/ssd_chunk_scan.h"

#include <cmath>

#include "ops/bound.h"
#include "ops/check.h"
#include "ops/outputs_apart.h"

namespace hiss {

using namespace ops;  // the pieces this file is made of

namespace {

// The type of the state: that of the first state tensor there is.
DType state_dtype(const SsdChunkScan::Args& a) {
  if (a.initial_states.present()) return a.initial_states.dtype;
  if (a.final_states.present()) return a.final_states.dtype;
  return a.checkpoint_states.present() ? a.checkpoint_states.dtype : DType::kF32;
}

Status check_states(const SsdChunkScan::Args& a, Dim batch, Dim seqlen, Dim nheads, Dim headdim,
                    Dim dstate) {
  HISS_RETURN_IF_ERROR(want_cu_seqlens(a.cu_seqlens, batch.size, seqlen.size, a.device));
  HISS_RETURN_IF_ERROR(want_checkpoint_tokens(a.checkpoint_tokens, a.cu_seqlens, seqlen.size,
                                              Direction::kForward, a.device));
  const Dim nseq{"nseq", sequences(a.cu_seqlens, batch.size)};
  const DType first = state_dtype(a);
  if (first != DType::kF32 && first != DType::kF16 && first != DType::kBF16)
    return InvalidArgument(std::string("states: got ") + to_string(first) +
                           ", want F32, F16 or BF16");
  HISS_RETURN_IF_ERROR(
      want_optional("initial_states", a.initial_states, {first}, {nseq, nheads, headdim, dstate}));
  HISS_RETURN_IF_ERROR(
      want_optional("final_states", a.final_states, {first}, {nseq, nheads, headdim, dstate}));
  if (a.checkpoint_tokens.present() != a.checkpoint_states.present())
    return InvalidArgument("checkpoint_states: got " + to_string(a.checkpoint_states) +
                           ", want it together with checkpoint_tokens, which is " +
                           to_string(a.checkpoint_tokens));
  return want_optional(
      "checkpoint_states", a.checkpoint_states, {first},
      {batch, {"ncheckpoints", a.checkpoint_tokens.shape[0]}, nheads, headdim, dstate});
}

Status check_shapes(const SsdChunkScan::Args& a) {
  HISS_RETURN_IF_ERROR(want_tensor("x", a.x, {DType::kF32, DType::kF16, DType::kBF16},
                                   {{"batch"}, {"seqlen"}, {"nheads"}, {"headdim"}}));
  const Dim batch{"batch", a.x.shape[0]}, seqlen{"seqlen", a.x.shape[1]};
  const Dim nheads{"nheads", a.x.shape[2]}, headdim{"headdim", a.x.shape[3]};
  HISS_RETURN_IF_ERROR(want_tensor("dt", a.dt, {a.x.dtype, DType::kF32}, {batch, seqlen, nheads}));
  HISS_RETURN_IF_ERROR(want_tensor("A", a.A, {DType::kF32}, {nheads}));
  HISS_RETURN_IF_ERROR(
      want_tensor("B", a.B, {a.x.dtype}, {batch, seqlen, {"ngroups"}, {"dstate"}}));
  const Dim ngroups{"ngroups", a.B.shape[2]}, dstate{"dstate", a.B.shape[3]};
  if (ngroups.size < 1 || nheads.size % ngroups.size != 0)
    return InvalidArgument("B: got ngroups=" + std::to_string(ngroups.size) +
                           ", want a divisor of nheads=" + std::to_string(nheads.size));
  HISS_RETURN_IF_ERROR(want_tensor("C", a.C, {a.x.dtype}, {batch, seqlen, ngroups, dstate}));
  if (a.D.rank == 2)
    HISS_RETURN_IF_ERROR(want_tensor("D", a.D, {DType::kF32}, {nheads, headdim}));
  else
    HISS_RETURN_IF_ERROR(want_optional("D", a.D, {DType::kF32}, {nheads}));
  HISS_RETURN_IF_ERROR(want_optional("z", a.z, {a.x.dtype}, {batch, seqlen, nheads, headdim}));
  HISS_RETURN_IF_ERROR(want_optional("dt_bias", a.dt_bias, {DType::kF32}, {nheads}));
  HISS_RETURN_IF_ERROR(want_dt_limit(a.dt_min, a.dt_max));
  HISS_RETURN_IF_ERROR(check_states(a, batch, seqlen, nheads, headdim, dstate));
  return want_tensor("y", a.y, {a.x.dtype}, {batch, seqlen, nheads, headdim});
}

// Whether the heads of a (batch, seqlen, nheads, headdim) tensor lie one behind the other.
bool side_by_side(const ConstTensorView& view) {
  return !view.present() || view.shape[2] <= 1 || view.stride[2] == view.shape[3];
}

// What roundings of a 16-bit state add, in units of its roundoff. In the strict class after every
// token, as the reference does; else after every 64 and at checkpoints at worst. What was lost is
// remembered as long as the state: a random walk, and where a mean builds up without decay,
// increments below the state's last digit are lost altogether.
double state_units(const SsdChunkScan::Problem& p) {
  if (p.precision == Precision::kStrict) return 1.0 + 2.0 * walk(p.seqlen);
  const int64_t roundings = (p.seqlen + 63) / 64 + p.ncheckpoints;
  return 1.0 + 2.0 * walk(roundings) + static_cast<double>(roundings) / 16;
}

}  // namespace

Status SsdChunkScan::check(const Args& a) {
  HISS_RETURN_IF_ERROR(check_shapes(a));
  return want_outputs_apart<SsdChunkScan>(
      a, {{"y", "x"}, {"y", "z"}, {"final_states", "initial_states"}});
}

SsdChunkScan::Problem SsdChunkScan::describe(const Args& a) {
  bool dense = dense_along(a.B, 3) && dense_along(a.C, 3) && dense_along(a.checkpoint_states, 4);
  for (const ConstTensorView& view :
       {a.x, a.z, ConstTensorView(a.y), a.initial_states, ConstTensorView(a.final_states)})
    dense = dense && dense_along(view, 3);
  return {
      .batch = a.x.shape[0],
      .seqlen = a.x.shape[1],
      .nheads = a.x.shape[2],
      .headdim = a.x.shape[3],
      .dstate = a.B.shape[3],
      .ngroups = a.B.shape[2],
      .nseq = sequences(a.cu_seqlens, a.x.shape[0]),
      .ncheckpoints = a.checkpoint_tokens.present() ? a.checkpoint_tokens.shape[0] : 0,
      .dtype = a.x.dtype,
      .dt_dtype = a.dt.dtype,
      .state_dtype = state_dtype(a),
      .precision = a.precision,
      .device = a.device,
      .dense = dense,
      .blocks_of_16 = side_by_side(a.x) && side_by_side(a.z) && side_by_side(a.y) &&
                      in_blocks_of_16(a.x) && in_blocks_of_16(a.z) && in_blocks_of_16(a.y) &&
                      in_blocks_of_16(a.B) && in_blocks_of_16(a.C),
      .has_z = a.z.present(),
      .has_d = a.D.present(),
      .d_has_headdim = a.D.rank == 2,
      .has_dt_bias = a.dt_bias.present(),
      .dt_softplus = a.dt_softplus,
      .dt_limit = std::isfinite(a.dt_min) || std::isfinite(a.dt_max),
      .a_is_log = a.A_is_log,
      .has_initial_states = a.initial_states.present(),
      .has_final_states = a.final_states.present(),
      .packed = a.cu_seqlens.present(),
  };
}

// As for selective_scan.
ErrorBound SsdChunkScan::error_bound(const Problem& p) {
  double units = 16.0 + walk(p.dstate) + walk(p.seqlen);
  if (p.state_dtype != DType::kF32)
    units += state_units(p) * unit_roundoff(p.state_dtype) / unit_roundoff(DType::kF32);
  return promise(units, p.dtype, p.precision);
}

Status ssd_chunk_scan(Context& context, const SsdChunkScan::Args& args) {
  return run_operator<SsdChunkScan>(context, args);
}

}  // namespace hiss
