// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "cuda/selective_scan/step.cuh"
#include "cuda/tile/element.cuh"
#include "hiss/ops/selective_state_update.h"

// What the kernels of the decode step are launched with.
namespace hiss::cuda::selective_state_update {

// A tensor of up to five axes: strides in elements.
struct Strides {
  int64_t axis[kMaxRank] = {};

  static Strides of(const ConstTensorView& v) {
    Strides s;
    for (int i = 0; i < v.rank; ++i) s.axis[i] = v.stride[i];
    return s;
  }
};

struct UpdateArgs {
  const void *x, *dt, *z, *B, *C;
  const float *A, *D, *dt_bias;
  void *state, *snapshots, *y;
  Strides x_by, dt_by, z_by, B_by, C_by, A_by, D_by, bias_by, state_by, snapshot_by, y_by;
  const int32_t* indices;
  int64_t index_by, batch, ntokens, nheads, headdim, dstate, heads_of_group, nslots;
  float dt_min, dt_max;
  bool softplus, A_is_log, dt_is_f32, strict;

  static UpdateArgs of(const SelectiveStateUpdate::Args& a) {
    UpdateArgs u{};
    u.x = a.x.data, u.dt = a.dt.data, u.z = a.z.present() ? a.z.data : nullptr;
    u.B = a.B.data, u.C = a.C.data, u.A = a.A.as<float>();
    if (a.D.present()) u.D = a.D.as<float>();
    if (a.dt_bias.present()) u.dt_bias = a.dt_bias.as<float>();
    u.state = a.state.data, u.y = a.y.data;
    if (a.snapshots.present()) u.snapshots = a.snapshots.data;
    u.x_by = Strides::of(a.x), u.dt_by = Strides::of(a.dt), u.z_by = Strides::of(a.z);
    u.B_by = Strides::of(a.B), u.C_by = Strides::of(a.C), u.A_by = Strides::of(a.A);
    u.D_by = Strides::of(a.D), u.bias_by = Strides::of(a.dt_bias);
    u.state_by = Strides::of(a.state), u.snapshot_by = Strides::of(a.snapshots);
    u.y_by = Strides::of(a.y);
    if (a.state_indices.present())
      u.indices = a.state_indices.as<int32_t>(), u.index_by = a.state_indices.stride[0];
    u.batch = a.x.shape[0], u.ntokens = a.x.shape[1], u.nheads = a.x.shape[2];
    u.headdim = a.x.shape[3], u.dstate = a.A.shape[2], u.nslots = a.state.shape[0];
    u.heads_of_group = u.nheads / a.B.shape[2];
    u.dt_min = a.dt_min, u.dt_max = a.dt_max;
    u.softplus = a.dt_softplus, u.A_is_log = a.A_is_log;
    u.dt_is_f32 = a.dt.dtype == DType::kF32;
    u.strict = a.precision == Precision::kStrict;
    return u;
  }

  // The slot of batch row b; negative: padding, or an index that names none.
  __device__ int64_t slot(int64_t b) const {
    if (indices == nullptr) return b;
    const int64_t slot = indices[b * index_by];
    return slot < nslots ? slot : -1;
  }
  template <class T>
  __device__ float raw_step(int64_t at) const {
    return dt_is_f32 ? static_cast<const float*>(dt)[at] : to_float(static_cast<const T*>(dt)[at]);
  }
  // delta from dt + dt_bias.
  __device__ float step(float v) const {
    if (softplus) v = selective_scan::softplus_fast(v);
    return selective_scan::min_or_nan(selective_scan::max_or_nan(v, dt_min), dt_max);
  }
  // A log2(e) from what the tensor holds.
  __device__ float rate(float a) const { return (A_is_log ? -expf(a) : a) * kLog2E; }
};

// Host: f.template operator()<T, State, kTied>() with the type of x, that of the states, which is
// the same or float, and whether A is one number a head.
template <class F>
Status with_types(const SelectiveStateUpdate::Args& args, F&& f) {
  const bool tied = SelectiveStateUpdate::describe(args).tied;
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    if (args.state.dtype == DType::kF32)
      return tied ? f.template operator()<T, float, true>()
                  : f.template operator()<T, float, false>();
    return tied ? f.template operator()<T, T, true>() : f.template operator()<T, T, false>();
  });
}

// Takes what the fast rows cannot read in vectors.
extern const Kernel<SelectiveStateUpdate> any_view;

// Sums of kRows values over the kLanes lanes of a group; lanes r * kLanes / kRows and those after
// it get that of row r.
template <int kLanes, int kRows>
__device__ __forceinline__ float row_sums(float (&v)[kRows], int in_group) {
#pragma unroll
  for (int width = kLanes / 2, rows = kRows / 2; width > 0; width /= 2, rows /= 2) {
    if (rows == 0) {
      v[0] += __shfl_xor_sync(0xffffffffu, v[0], width);
      continue;
    }
    const bool upper = in_group & width;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const float keep = upper ? v[i + rows] : v[i], give = upper ? v[i] : v[i + rows];
      v[i] = keep + __shfl_xor_sync(0xffffffffu, give, width);
    }
  }
  return v[0];
}

}  // namespace hiss::cuda::selective_state_update
