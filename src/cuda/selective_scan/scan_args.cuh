// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/selective_scan/step.cuh"
#include "cuda/tile/sequences.cuh"
#include "hiss/ops/selective_scan.h"

// What the kernels of the Mamba-1 scan are launched with.
namespace hiss::cuda::selective_scan {

// A (batch, seqlen, dim) tensor, or B or C of one group: strides in elements.
template <class Void>
struct Strided {
  Void* data = nullptr;
  int64_t row = 0, token = 0, group = 0, channel = 0;
  int64_t chunk = 0, tile = 0;  // bytes, of a thread: set by who moves the tensor

  static Strided of(const BasicTensorView<Void>& v) {
    if (!v.present()) return {};
    if (v.rank == 4) return {v.data, v.stride[0], v.stride[1], v.stride[2], v.stride[3]};
    return {v.data, v.stride[0], v.stride[1], 0, v.stride[2]};
  }
};

// A (rows, dim, dstate) tensor of states; checkpoints have one more axis between rows and dim.
struct States {
  float* data = nullptr;
  int64_t row = 0, checkpoint = 0, channel = 0, state = 0;

  template <class Void>
  static States of(const BasicTensorView<Void>& v) {
    if (!v.present()) return {};
    auto* data = const_cast<float*>(v.template as<float>());  // of inputs: never written
    if (v.rank == 4) return {data, v.stride[0], v.stride[1], v.stride[2], v.stride[3]};
    return {data, v.stride[0], 0, v.stride[1], v.stride[2]};
  }
};

struct ScanArgs {
  Strided<const void> u, dt, z, B, C;
  Strided<void> y;
  States initial, final, checkpoints;
  const float *A, *D, *dt_bias;
  int64_t A_channel, A_state, D_channel, bias_channel;
  const int64_t* checkpoint_tokens;
  int64_t checkpoint_stride, ncheckpoints;
  Sequences sequences;
  int64_t dim, dstate, group_dim;
  float dt_min, dt_max;
  bool softplus, limited, A_is_log, reverse;  // limited: dt_min or dt_max is finite
  int64_t blocks_of_group;                    // that share a group's channels
  // Sequences cut into segments: how many, tokens of each, states and sums of delta between them.
  int segments;
  int64_t segment_tokens;
  float *segment_states, *segment_deltas;
  // States between passes: (blocks, passes, channels, states, threads).
  float* carried;

  static ScanArgs of(const SelectiveScan::Args& a) {
    ScanArgs s{};
    s.u = Strided<const void>::of(a.u), s.dt = Strided<const void>::of(a.dt);
    s.z = Strided<const void>::of(a.z), s.y = Strided<void>::of(a.y);
    s.B = Strided<const void>::of(a.B), s.C = Strided<const void>::of(a.C);
    s.initial = States::of(a.initial_state), s.final = States::of(a.final_state);
    s.checkpoints = States::of(a.checkpoint_states);
    s.A = a.A.as<float>(), s.A_channel = a.A.stride[0], s.A_state = a.A.stride[1];
    if (a.D.present()) s.D = a.D.as<float>(), s.D_channel = a.D.stride[0];
    if (a.dt_bias.present())
      s.dt_bias = a.dt_bias.as<float>(), s.bias_channel = a.dt_bias.stride[0];
    if (a.checkpoint_tokens.present()) {
      s.checkpoint_tokens = a.checkpoint_tokens.as<int64_t>();
      s.checkpoint_stride = a.checkpoint_tokens.stride[0];
      s.ncheckpoints = a.checkpoint_tokens.shape[0];
    }
    s.sequences = Sequences::of(a.cu_seqlens, a.u.shape[0], a.u.shape[1]);
    s.dim = a.u.shape[2], s.dstate = a.A.shape[1], s.group_dim = s.dim / a.B.shape[2];
    s.dt_min = a.dt_min, s.dt_max = a.dt_max;
    s.limited = std::isfinite(a.dt_min) || std::isfinite(a.dt_max);
    s.softplus = a.dt_softplus, s.A_is_log = a.A_is_log;
    s.reverse = a.direction == Direction::kReverse;
    s.segments = 1;
    return s;
  }
};

// delta of what dt and its bias add up to.
template <int kCount>
__device__ __forceinline__ void delta_of(const ScanArgs& p, float (&v)[kCount]) {
  if (p.softplus) {
#pragma unroll
    for (int e = 0; e < kCount; ++e) v[e] = softplus_fast(v[e]);
  }
  if (p.limited) {
#pragma unroll
    for (int e = 0; e < kCount; ++e) v[e] = min_or_nan(max_or_nan(v[e], p.dt_min), p.dt_max);
  }
}

}  // namespace hiss::cuda::selective_scan
