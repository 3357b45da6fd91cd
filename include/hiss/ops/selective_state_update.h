// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <limits>
#include <string_view>

#include "hiss/context.h"
#include "hiss/ops/common.h"

namespace hiss {

// A few tokens of selective_scan or ssd_chunk_scan with the state kept in slots of a cache (known
// as selective_state_update): the decode step of Mamba-1 (nheads 1, headdim = dim, A per channel)
// and of Mamba-2 (A, dt, dt_bias, D broadcast with stride 0). Tokens one after another, head h of
// group g = h / (nheads / ngroups):
//
//   delta    = clamp( softplus(dt[t,h,p] + dt_bias[h,p]), dt_min, dt_max )
//   s[h,p,n] = exp(delta * A[h,p,n]) * s[h,p,n] + delta * B[t,g,n] * x[t,h,p]
//   y[t,h,p] = ( sum_n C[t,g,n] * s[h,p,n] + D[h,p] * x[t,h,p] ) * SiLU(z[t,h,p])
//
//   x, z           (batch, ntokens, nheads, headdim)  F32, F16 or BF16; z optional
//   dt             (batch, ntokens, nheads, headdim)  type of x, or F32
//   A              (nheads, headdim, dstate)          F32
//   B, C           (batch, ntokens, ngroups, dstate)  type of x; ngroups divides nheads
//   D, dt_bias     (nheads, headdim)                  F32, optional
//   state          (nslots, nheads, headdim, dstate)  F32, F16 or BF16, read and written
//   state_indices  (batch)                            I32, optional: slot of each row,
//                                                     none twice; negative: padding, its y is zero
//                                                     and no state is touched. Without: row = slot
//   initial_states (batch, nheads, headdim, dstate)  type of state, optional: what row b starts
//   from
//                                                     instead of its slot, which is then written
//                                                     only
//   snapshots      (batch, ntokens, nheads, headdim, dstate)  type of state, optional output: the
//                                                     state after each token, to roll back to
//   y              (batch, ntokens, nheads, headdim)  output, type of x
struct SelectiveStateUpdate {
  static constexpr std::string_view kName = "selective_state_update";

  struct Problem {
    int64_t batch = 1, ntokens = 1, nheads = 1, headdim = 64, dstate = 128, ngroups = 1, nslots = 1;
    DType dtype = DType::kF32, dt_dtype = DType::kF32, state_dtype = DType::kF32;
    Precision precision = Precision::kStandard;
    Device device = Device::kCpu;
    bool tied = false;  // A, dt and dt_bias have stride 0 within a head (Mamba-2)
    bool dense = true;  // x, z, y have stride 1 over headdim; B, C and the states over dstate
    bool has_z = false, has_d = false, has_dt_bias = false;
    bool dt_softplus = false, dt_limit = false, a_is_log = false;
    bool has_indices = false, has_initial_states = false, has_snapshots = false;
    bool operator==(const Problem&) const = default;
  };

  struct Args {
    ConstTensorView x, dt, A, B, C, D, z, dt_bias;
    TensorView state;
    ConstTensorView state_indices, initial_states;
    TensorView snapshots, y;
    bool dt_softplus = false;
    bool A_is_log = false;
    float dt_min = -std::numeric_limits<float>::infinity();
    float dt_max = std::numeric_limits<float>::infinity();
    Precision precision = Precision::kStandard;
    Device device = Device::kCpu;
  };

  static Status check(const Args& args);
  static Problem describe(const Args& args);
  // For y. For states: that of the problem with the states' type as dtype.
  static ErrorBound error_bound(const Problem& problem);

  template <class P, class F>
  static void for_each_field(P& p, F&& f) {
    f("batch", p.batch), f("ntokens", p.ntokens), f("nheads", p.nheads), f("headdim", p.headdim);
    f("dstate", p.dstate), f("ngroups", p.ngroups), f("nslots", p.nslots), f("dtype", p.dtype);
    f("dt_dtype", p.dt_dtype), f("state_dtype", p.state_dtype), f("precision", p.precision),
        f("device", p.device);
    f("tied", p.tied), f("dense", p.dense), f("has_z", p.has_z), f("has_d", p.has_d);
    f("has_dt_bias", p.has_dt_bias), f("dt_softplus", p.dt_softplus), f("dt_limit", p.dt_limit);
    f("a_is_log", p.a_is_log), f("has_indices", p.has_indices);
    f("has_initial_states", p.has_initial_states), f("has_snapshots", p.has_snapshots);
  }
};

Status selective_state_update(Context& context, const SelectiveStateUpdate::Args& args);

}  // namespace hiss
