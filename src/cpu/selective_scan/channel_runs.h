// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/sequences.h"
#include "cpu/simd/plane.h"
#include "hiss/ops/selective_scan.h"

// What the scan kernels of all instruction sets share: nothing here is compiled for one of them.
namespace hiss::cpu {

// Channels a task takes through a sequence.
inline constexpr int64_t kRunChannels = 64;
// Their states live on the task's stack: 64 KiB at most.
inline constexpr int64_t kMaxDstate = 256;

// The channels of each group cut into runs: none crosses a group.
struct ChannelRuns {
  int64_t group_dim, per_group, count;
};
inline ChannelRuns channel_runs(int64_t dim, int64_t ngroups) {
  const int64_t group_dim = dim / ngroups;
  const int64_t per_group = (group_dim + kRunChannels - 1) / kRunChannels;
  return {group_dim, per_group, per_group * ngroups};
}

template <bool Machine::*kIsa>
Decline why_not(const SelectiveScan::Problem& p, const Machine& machine) {
  if (!(machine.*kIsa)) return why::kIsa;
  if (p.dstate < 1 || p.dstate > kMaxDstate) return why::kDstate;
  return {};
}

// The prepared decay of each run: a row a state, their least and their largest.
inline size_t workspace_bytes(const SelectiveScan::Problem& p, const Machine&) {
  const int64_t runs = channel_runs(p.dim, p.ngroups).count;
  return static_cast<size_t>(runs * kRunChannels * (p.dstate + 2)) * sizeof(float);
}

// B or C of one sequence and group as a (tokens, states) plane.
inline Plane state_plane_of(const ConstTensorView& v, int64_t row, int64_t begin, int64_t group) {
  const int64_t offset = row * v.stride[0] + begin * v.stride[1] + group * v.stride[2];
  return {advance(v.data, v.dtype, offset), v.dtype, v.stride[1], v.stride[3]};
}

inline int64_t checkpoints(const SelectiveScan::Args& args) {
  return args.checkpoint_tokens.present() ? args.checkpoint_tokens.shape[0] : 0;
}

// How many of the next `tokens` tokens of a sequence, `done` of which are consumed, go up to and
// include the first checkpoint among them; all, if none is.
inline int64_t tokens_to_checkpoint(const SelectiveScan::Args& args, const Sequence& sequence,
                                    int64_t done, int64_t tokens) {
  for (int64_t k = 0; k < checkpoints(args); ++k) {
    const int64_t t = index_at(args.checkpoint_tokens, k) - sequence.begin;
    const bool forward = args.direction == Direction::kForward;
    const int64_t consumed = forward ? t : sequence.length - 1 - t;
    if (t < 0 || t >= sequence.length || consumed < done) continue;
    tokens = std::min(tokens, consumed - done + 1);
  }
  return tokens;
}

}  // namespace hiss::cpu
