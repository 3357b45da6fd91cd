// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <limits>
#include <string_view>

#include "hiss/context.h"
#include "hiss/ops/common.h"

namespace hiss {

// Mamba-2's scan over a sequence (Dao & Gu 2024, "state space duality"; known as
// mamba_chunk_scan_combined, ggml's SSM_SCAN with scalar A). For each sequence, head h of group
// g = h / (nheads / ngroups), row p and state n, with s = initial_states (zeros without it):
//
//   delta    = clamp( softplus(dt[t,h] + dt_bias[h]), dt_min, dt_max )
//   s[h,p,n] = exp(delta * A[h]) * s[h,p,n] + delta * B[t,g,n] * x[t,h,p]
//   y[t,h,p] = ( sum_n C[t,g,n] * s[h,p,n] + D[h,p] * x[t,h,p] ) * SiLU(z[t,h,p])
//
// softplus, A_is_log, D and z as in selective_scan. Kernels may work in chunks of tokens; the
// result does not depend on how they cut.
//
//   x, z               (batch, seqlen, nheads, headdim)  F32, F16 or BF16; z optional
//   dt                 (batch, seqlen, nheads)           type of x, or F32
//   A                  (nheads)                          F32
//   B, C               (batch, seqlen, ngroups, dstate)  type of x; ngroups divides nheads
//   D                  (nheads) or (nheads, headdim)     F32, optional
//   dt_bias            (nheads)                          F32, optional
//   initial_states     (nseq, nheads, headdim, dstate)   F32, F16 or BF16, optional
//   final_states       (nseq, nheads, headdim, dstate)   same, optional output
//   checkpoint_tokens  (ncheckpoints)                    optional, see ops/common.h
//   checkpoint_states  (batch, ncheckpoints, nheads, headdim, dstate)  output, with
//                                                        checkpoint_tokens
//   cu_seqlens         (nseq + 1)                        optional, see ops/common.h
//   y                  (batch, seqlen, nheads, headdim)  output, type of x
//
// All state tensors have one type, which names how the state is kept: F32 (also without state
// tensors) in float32 throughout; a 16-bit type allows a kernel to round it to that between chunks
// of 64 tokens, and in the strict class to round it after every token. Aliasing as in
// selective_scan. Forward only.
struct SsdChunkScan {
  static constexpr std::string_view kName = "ssd_chunk_scan";

  struct Problem {
    int64_t batch = 1, seqlen = 0, nheads = 1, headdim = 64, dstate = 128, ngroups = 1, nseq = 1;
    int64_t ncheckpoints = 0;
    DType dtype = DType::kF32, dt_dtype = DType::kF32, state_dtype = DType::kF32;
    Precision precision = Precision::kStandard;
    Device device = Device::kCpu;
    bool dense = true;  // x, z, y have stride 1 over headdim, B, C and the states over dstate
    // For bulk copies: x, z, y have their heads side by side; these, B and C begin at and step by
    // multiples of 16 bytes, forward.
    bool blocks_of_16 = true;
    bool has_z = false, has_d = false, d_has_headdim = false, has_dt_bias = false;
    bool dt_softplus = false, dt_limit = false, a_is_log = false;
    bool has_initial_states = false, has_final_states = false, packed = false;
    bool operator==(const Problem&) const = default;
  };

  struct Args {
    ConstTensorView x, dt, A, B, C, D, z, dt_bias, initial_states;
    TensorView final_states, checkpoint_states, y;
    ConstTensorView checkpoint_tokens, cu_seqlens;
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
    f("batch", p.batch), f("seqlen", p.seqlen), f("nheads", p.nheads), f("headdim", p.headdim);
    f("dstate", p.dstate), f("ngroups", p.ngroups), f("nseq", p.nseq);
    f("ncheckpoints", p.ncheckpoints), f("dtype", p.dtype), f("dt_dtype", p.dt_dtype);
    f("state_dtype", p.state_dtype), f("precision", p.precision), f("device", p.device),
        f("dense", p.dense);
    f("blocks_of_16", p.blocks_of_16);
    f("has_z", p.has_z), f("has_d", p.has_d), f("d_has_headdim", p.d_has_headdim);
    f("has_dt_bias", p.has_dt_bias), f("dt_softplus", p.dt_softplus), f("dt_limit", p.dt_limit);
    f("a_is_log", p.a_is_log), f("has_initial_states", p.has_initial_states);
    f("has_final_states", p.has_final_states), f("packed", p.packed);
  }
};

Status ssd_chunk_scan(Context& context, const SsdChunkScan::Args& args);

}  // namespace hiss
