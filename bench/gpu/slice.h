// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdint>

#include "hiss/ops/all.h"

// A small part of a problem that is independent of the rest: a few channels of one row, or a few
// rows of one head. What the reference can recompute of a problem of any size.
namespace hiss::bench {

template <class View>
void narrow(View& view, int axis, int64_t begin, int64_t count) {
  if (!view.present()) return;
  using Byte = std::conditional_t<std::is_same_v<View, TensorView>, std::byte, const std::byte>;
  view.data = static_cast<Byte*>(view.data) + begin * view.stride[axis] * size_of(view.dtype);
  view.shape[axis] = count;
}

// As many as the reference computes in about a second, of `have`.
inline int64_t affordable(int64_t have, int64_t work_of_one) {
  constexpr int64_t kWork = 20'000'000;
  return std::clamp<int64_t>(kWork / std::max<int64_t>(work_of_one, 1), 1,
                             std::min<int64_t>(have, 8));
}

// `where` in [0, 1): from the first to the last part.
inline int64_t begin_of(double where, int64_t have, int64_t count) {
  return static_cast<int64_t>(where * static_cast<double>(have - count + 1));
}

template <class Args>
int64_t row_of(const Args& a, const ConstTensorView& x, double where) {
  if constexpr (requires { a.cu_seqlens; })
    if (a.cu_seqlens.present()) return 0;
  return begin_of(where, x.shape[0], 1);
}

inline CausalConv1d::Args slice(CausalConv1d::Args a, double where) {
  const int64_t dim = a.x.shape[2], row = row_of(a, a.x, where);
  const int64_t count = affordable(dim, a.x.shape[1] * a.weight.shape[1]);
  const int64_t channel = begin_of(where, dim, count);
  narrow(a.x, 2, channel, count), narrow(a.y, 2, channel, count);
  narrow(a.weight, 0, channel, count), narrow(a.bias, 0, channel, count);
  narrow(a.initial_state, 2, channel, count), narrow(a.final_state, 2, channel, count);
  if (a.cu_seqlens.present()) return a;
  narrow(a.x, 0, row, 1), narrow(a.y, 0, row, 1);
  narrow(a.initial_state, 0, row, 1), narrow(a.final_state, 0, row, 1);
  return a;
}

inline CausalConv1dUpdate::Args slice(CausalConv1dUpdate::Args a, double where) {
  const int64_t dim = a.x.shape[2], row = begin_of(where, a.x.shape[0], 1);
  const int64_t count = affordable(dim, 1), channel = begin_of(where, dim, count);
  narrow(a.x, 2, channel, count), narrow(a.y, 2, channel, count);
  narrow(a.weight, 0, channel, count), narrow(a.bias, 0, channel, count);
  narrow(a.state, 2, channel, count);
  narrow(a.x, 0, row, 1), narrow(a.y, 0, row, 1), narrow(a.state, 0, row, 1);
  return a;
}

inline SelectiveScan::Args slice(SelectiveScan::Args a, double where) {
  const int64_t group_dim = a.u.shape[2] / a.B.shape[2], row = row_of(a, a.u, where);
  const int64_t group = begin_of(where, a.B.shape[2], 1);
  const int64_t count = affordable(group_dim, a.u.shape[1] * a.A.shape[1]);
  const int64_t channel = group * group_dim + begin_of(where, group_dim, count);
  narrow(a.u, 2, channel, count), narrow(a.dt, 2, channel, count), narrow(a.z, 2, channel, count);
  narrow(a.y, 2, channel, count), narrow(a.A, 0, channel, count), narrow(a.D, 0, channel, count);
  narrow(a.dt_bias, 0, channel, count), narrow(a.B, 2, group, 1), narrow(a.C, 2, group, 1);
  narrow(a.initial_state, 1, channel, count), narrow(a.final_state, 1, channel, count);
  if (a.cu_seqlens.present()) return a;
  narrow(a.u, 0, row, 1), narrow(a.dt, 0, row, 1), narrow(a.z, 0, row, 1), narrow(a.y, 0, row, 1);
  narrow(a.B, 0, row, 1), narrow(a.C, 0, row, 1);
  narrow(a.initial_state, 0, row, 1), narrow(a.final_state, 0, row, 1);
  return a;
}

inline SsdChunkScan::Args slice(SsdChunkScan::Args a, double where) {
  const int64_t nheads = a.x.shape[2], headdim = a.x.shape[3], row = row_of(a, a.x, where);
  const int64_t head = begin_of(where, nheads, 1), group = head / (nheads / a.B.shape[2]);
  const int64_t count = affordable(headdim, a.x.shape[1] * a.B.shape[3]);
  const int64_t p = begin_of(where, headdim, count);
  for (ConstTensorView* view : {&a.x, &a.z}) narrow(*view, 2, head, 1), narrow(*view, 3, p, count);
  narrow(a.y, 2, head, 1), narrow(a.y, 3, p, count);
  narrow(a.dt, 2, head, 1), narrow(a.A, 0, head, 1), narrow(a.dt_bias, 0, head, 1);
  narrow(a.B, 2, group, 1), narrow(a.C, 2, group, 1), narrow(a.D, 0, head, 1);
  if (a.D.rank == 2) narrow(a.D, 1, p, count);
  narrow(a.initial_states, 1, head, 1), narrow(a.initial_states, 2, p, count);
  narrow(a.final_states, 1, head, 1), narrow(a.final_states, 2, p, count);
  if (a.cu_seqlens.present()) return a;
  for (ConstTensorView* view : {&a.x, &a.z, &a.dt, &a.B, &a.C, &a.initial_states})
    narrow(*view, 0, row, 1);
  narrow(a.y, 0, row, 1), narrow(a.final_states, 0, row, 1);
  return a;
}

inline SelectiveStateUpdate::Args slice(SelectiveStateUpdate::Args a, double where) {
  const int64_t nheads = a.x.shape[2], headdim = a.x.shape[3];
  const int64_t row = begin_of(where, a.x.shape[0], 1), head = begin_of(where, nheads, 1);
  const int64_t group = head / (nheads / a.B.shape[2]);
  const int64_t count = affordable(headdim, a.B.shape[3]), p = begin_of(where, headdim, count);
  for (ConstTensorView* view : {&a.x, &a.z, &a.dt})
    narrow(*view, 0, row, 1), narrow(*view, 2, head, 1), narrow(*view, 3, p, count);
  for (ConstTensorView* view : {&a.A, &a.D, &a.dt_bias})
    narrow(*view, 0, head, 1), narrow(*view, 1, p, count);
  for (ConstTensorView* view : {&a.B, &a.C}) narrow(*view, 0, row, 1), narrow(*view, 2, group, 1);
  narrow(a.y, 0, row, 1), narrow(a.y, 2, head, 1), narrow(a.y, 3, p, count);
  narrow(a.state, 0, row, 1), narrow(a.state, 1, head, 1), narrow(a.state, 2, p, count);
  return a;
}

}  // namespace hiss::bench
