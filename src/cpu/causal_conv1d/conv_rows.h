// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/sequences.h"
#include "cpu/simd/plane.h"
#include "hiss/ops/causal_conv1d.h"

// What the convolution's kernels share. Tokens are numbered in the order in which they are
// consumed, so that one code serves both directions: the plane of a reversed sequence has a
// negative token stride, and input -1 is the newest row of initial_state.
namespace hiss::cpu {

// lanes_over_time keeps a tile and its history on the stack.
inline constexpr int64_t kMaxWidthOverTime = 512;
// tiles keeps the taps of its channels there.
inline constexpr int64_t kMaxWidthOfTiles = 16;

// The tokens of a sequence in the order of the direction.
template <class Void>
BasicPlane<Void> ordered_plane_of(const BasicTensorView<Void>& v, const Sequence& sequence,
                                  Direction direction) {
  const bool forward = direction == Direction::kForward || sequence.length == 0;
  const int64_t first = sequence.begin + (forward ? 0 : sequence.length - 1);
  BasicPlane<Void> plane = plane_of(v, sequence.row, first);
  if (!forward) plane.token_stride = -plane.token_stride;
  return plane;
}

inline int64_t sequence_count(const CausalConv1d::Args& args) {
  return args.cu_seqlens.present() ? args.cu_seqlens.shape[0] - 1 : args.x.shape[0];
}

// Input i < 0 of channel c, from the state before the first token.
inline float earlier_input(const CausalConv1d::Args& args, int64_t s, int64_t i, int64_t c) {
  const ConstTensorView& v = args.initial_state;
  if (!v.present()) return 0.0f;
  const int64_t j = args.weight.shape[1] - 1 + i;
  return v.as<float>()[s * v.stride[0] + j * v.stride[1] + c * v.stride[2]];
}

// final_state of channels [begin, end). Row j comes from row j or a later one of initial_state, so
// the two may be one memory.
inline void store_final_state(const CausalConv1d::Args& args, int64_t s, const Plane& x,
                              int64_t length, int64_t begin, int64_t end) {
  const TensorView& v = args.final_state;
  if (!v.present()) return;
  const int64_t history = args.weight.shape[1] - 1;
  for (int64_t j = 0; j < history; ++j) {
    const int64_t i = length - history + j;
    float* to = v.as<float>() + s * v.stride[0] + j * v.stride[1];
    for (int64_t c = begin; c < end; ++c)
      to[c * v.stride[2]] = i < 0 ? earlier_input(args, s, i, c)
                                  : float_at(x, i * x.token_stride + c * x.channel_stride);
  }
}

}  // namespace hiss::cpu
