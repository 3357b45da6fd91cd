// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "cuda/tile/small_divide.cuh"
#include "hiss/ops/selective_state_update.h"

// What the kernel of one token is launched with: strides in bytes and as narrow as they may be, so
// that little has to be read and multiplied before the first load.
namespace hiss::cuda::selective_state_update {

// A tensor of (batch, head, row); an axis that it does not have, or that has one index, is 0 apart.
struct Place {
  char* data;
  int64_t batch;
  int32_t head, row;

  // Axes by number, negative: it has none.
  static Place of(const ConstTensorView& v, int batch_axis, int head_axis, int row_axis) {
    if (!v.present()) return {};
    const auto bytes = [&](int axis) {
      return axis < 0 || v.shape[axis] < 2 ? 0 : v.stride[axis] * size_of(v.dtype);
    };
    return {static_cast<char*>(const_cast<void*>(v.data)), bytes(batch_axis),
            static_cast<int32_t>(bytes(head_axis)), static_cast<int32_t>(bytes(row_axis))};
  }
  __device__ __forceinline__ char* at(int64_t b, int h, int p) const {
    return data + b * batch + int64_t{h} * head + int64_t{p} * row;
  }
};

struct TokenArgs {
  Place x, dt, z, y, B, C, A, D, bias, state;
  const int32_t* indices;
  int64_t index_by, nslots, first_batch;
  SmallDivider heads_of_group;
  int headdim, dstate;
  float dt_min, dt_max;
  bool softplus, A_is_log, dt_is_f32, strict, next_starts_early;

  static TokenArgs of(const SelectiveStateUpdate::Args& a) {
    const bool listed = a.state_indices.present();
    return {.x = Place::of(a.x, 0, 2, 3),
            .dt = Place::of(a.dt, 0, 2, 3),
            .z = Place::of(a.z, 0, 2, 3),
            .y = Place::of(a.y, 0, 2, 3),
            .B = Place::of(a.B, 0, 2, -1),
            .C = Place::of(a.C, 0, 2, -1),
            .A = Place::of(a.A, -1, 0, 1),
            .D = Place::of(a.D, -1, 0, 1),
            .bias = Place::of(a.dt_bias, -1, 0, 1),
            .state = Place::of(a.state, 0, 1, 2),
            .indices = listed ? a.state_indices.as<int32_t>() : nullptr,
            .index_by = listed ? a.state_indices.stride[0] : 0,
            .nslots = a.state.shape[0],
            .first_batch = 0,
            .heads_of_group = SmallDivider(a.x.shape[2] / a.B.shape[2]),
            .headdim = static_cast<int>(a.x.shape[3]),
            .dstate = static_cast<int>(a.A.shape[2]),
            .dt_min = a.dt_min,
            .dt_max = a.dt_max,
            .softplus = a.dt_softplus,
            .A_is_log = a.A_is_log,
            .dt_is_f32 = a.dt.dtype == DType::kF32,
            .strict = a.precision == Precision::kStrict,
            .next_starts_early = false};
  }

  // Whether the strides fit: those within a sequence in 32 bits of bytes, the rows of a head
  // together as well.
  static bool fit(const SelectiveStateUpdate::Args& a) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const auto near = [](const ConstTensorView& v, int first_axis) {
      for (int axis = first_axis; axis < v.rank; ++axis)
        if (std::abs(v.stride[axis]) > kMost / size_of(v.dtype)) return false;
      return true;
    };
    const int64_t rows = a.x.shape[3];
    return near(a.x, 1) && near(a.dt, 1) && near(a.z, 1) && near(a.y, 1) && near(a.B, 1) &&
           near(a.C, 1) && near(a.A, 0) && near(a.D, 0) && near(a.dt_bias, 0) && near(a.state, 1) &&
           rows <= kMost / 2 &&
           std::abs(a.state.stride[2]) <=
               kMost / size_of(a.state.dtype) / std::max<int64_t>(rows, 1);
  }
};

}  // namespace hiss::cuda::selective_state_update
