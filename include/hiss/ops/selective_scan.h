// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <limits>
#include <string_view>

#include "hiss/context.h"
#include "hiss/ops/common.h"

namespace hiss {

// Mamba-1's scan over a sequence (Gu & Dao 2023, algorithm 2; known as selective_scan_fn,
// SpeechLens's MetalSelectiveScan, ggml's SSM_SCAN with head_dim 1). For each sequence, channel d
// of group g = d / (dim / ngroups), and state n, with h = initial_state (zeros without it):
//
//   delta  = clamp( softplus(dt[t,d] + dt_bias[d]), dt_min, dt_max )
//   h[d,n] = exp(delta * A[d,n]) * h[d,n] + delta * B[t,g,n] * u[t,d]
//   y[t,d] = ( sum_n C[t,g,n] * h[d,n] + D[d] * u[t,d] ) * SiLU(z[t,d])
//
// softplus(v) = log(1 + exp(v)), identity above 20; only with dt_softplus. No D: no skip term. No
// z: no gate. A_is_log: the tensor A holds A_log and -exp(A_log) takes its place.
//
//   u, dt, z           (batch, seqlen, dim)             F32, F16 or BF16, all the same; z optional
//   A                  (dim, dstate)                    F32
//   B, C               (batch, seqlen, ngroups, dstate) type of u; ngroups divides dim
//   D, dt_bias         (dim)                            F32, optional
//   initial_state      (nseq, dim, dstate)              F32, optional
//   final_state        (nseq, dim, dstate)              F32, optional output
//   checkpoint_tokens  (ncheckpoints)                   optional, see ops/common.h
//   checkpoint_states  (batch, ncheckpoints, dim, dstate)  F32 output, with checkpoint_tokens
//   cu_seqlens         (nseq + 1)                       optional, see ops/common.h
//   y                  (batch, seqlen, dim)             output, type of u
//
// final_state may be the memory of initial_state; y may be the memory of u or of z. seqlen 0 copies
// initial_state (or zeros) to final_state. delta * A must not be positive for long: it is taken as
// given, and overflows as the formula does. States are kept in F32.
struct SelectiveScan {
  static constexpr std::string_view kName = "selective_scan";

  struct Problem {
    int64_t batch = 1, seqlen = 0, dim = 0, dstate = 16, ngroups = 1, nseq = 1, ncheckpoints = 0;
    DType dtype = DType::kF32;
    Precision precision = Precision::kStandard;
    Device device = Device::kCpu;
    Direction direction = Direction::kForward;
    Layout layout = Layout::kChannelsLast;  // of u, dt, z and y; they differ: kStrided
    bool dense_bc = true;                   // B and C have stride 1 over dstate
    // For bulk copies: u, dt, z, y, B and C begin at and step by multiples of 16 bytes, forward.
    bool blocks_of_16 = true;
    bool has_z = false, has_d = false, has_dt_bias = false, dt_softplus = false, dt_limit = false;
    bool a_is_log = false, has_initial_state = false, has_final_state = false, packed = false;
    bool operator==(const Problem&) const = default;
  };

  struct Args {
    ConstTensorView u, dt, A, B, C, D, z, dt_bias, initial_state;
    TensorView final_state, checkpoint_states, y;
    ConstTensorView checkpoint_tokens, cu_seqlens;
    bool dt_softplus = false;
    bool A_is_log = false;
    float dt_min = -std::numeric_limits<float>::infinity();
    float dt_max = std::numeric_limits<float>::infinity();
    Direction direction = Direction::kForward;
    Precision precision = Precision::kStandard;
    Device device = Device::kCpu;
  };

  static Status check(const Args& args);
  static Problem describe(const Args& args);
  // For y. For states: that of the problem with the states' type as dtype.
  static ErrorBound error_bound(const Problem& problem);

  template <class P, class F>
  static void for_each_field(P& p, F&& f) {
    f("batch", p.batch), f("seqlen", p.seqlen), f("dim", p.dim), f("dstate", p.dstate);
    f("ngroups", p.ngroups), f("nseq", p.nseq), f("ncheckpoints", p.ncheckpoints);
    f("dtype", p.dtype), f("precision", p.precision), f("device", p.device),
        f("direction", p.direction);
    f("layout", p.layout), f("dense_bc", p.dense_bc), f("blocks_of_16", p.blocks_of_16);
    f("has_z", p.has_z), f("has_d", p.has_d);
    f("has_dt_bias", p.has_dt_bias), f("dt_softplus", p.dt_softplus), f("dt_limit", p.dt_limit);
    f("a_is_log", p.a_is_log), f("has_initial_state", p.has_initial_state);
    f("has_final_state", p.has_final_state), f("packed", p.packed);
  }
};

Status selective_scan(Context& context, const SelectiveScan::Args& args);

}  // namespace hiss
