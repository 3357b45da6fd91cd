// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdint>

#include "hiss/ops/selective_state_update.h"

// How a state update is cut, for all instruction sets: nothing here is compiled for one of them.
namespace hiss::cpu::state_update {

inline constexpr int64_t kBlockRows = 128;   // rows of one head in a block
inline constexpr int64_t kChunkTokens = 16;  // tokens between a load and a store of the state
inline constexpr int64_t kTileRows = 4;
inline constexpr int64_t kMaxLanes = 16;
// Blocks are dealt out in runs, each with a Scratch: so many at most, each with this many updates
// of a state, which take two or three microseconds; one run where that is all there is four times.
inline constexpr int64_t kMaxRuns = 64;
inline constexpr int64_t kRunUpdates = 1 << 15;

// dstate padded to whole vectors of any instruction set.
inline int64_t padded(int64_t dstate) { return (dstate + kMaxLanes - 1) / kMaxLanes * kMaxLanes; }

// What a run of blocks works in: values of some tokens and one block of rows.
struct alignas(64) Scratch {
  float x[kChunkTokens][kBlockRows];
  float z[kChunkTokens][kBlockRows];
  float y[kChunkTokens][kBlockRows + kMaxLanes];  // written four at a time
  float delta[kChunkTokens][kBlockRows];
  float delta_x[kChunkTokens][kBlockRows];
  float decay[kChunkTokens];  // of the head, where A and dt are tied
  float D[kBlockRows], dt_bias[kBlockRows];
  alignas(64) float sums[kChunkTokens][kTileRows][kMaxLanes];  // C h before lanes are added up

  // Behind the struct, padded with zeros: B and C (kChunkTokens, padded each) and A of
  // some rows.
  float* B_and_C() { return reinterpret_cast<float*>(this + 1); }
  float* A(int64_t dstate) { return B_and_C() + 2 * kChunkTokens * padded(dstate); }
  static size_t bytes(int64_t dstate) {
    return sizeof(Scratch) +
           static_cast<size_t>((2 * kChunkTokens + kTileRows) * padded(dstate)) * sizeof(float);
  }
};

inline int64_t blocks_per_head(int64_t headdim) { return (headdim + kBlockRows - 1) / kBlockRows; }

inline int64_t runs_of(const SelectiveStateUpdate::Problem& p) {
  const int64_t blocks = p.batch * p.nheads * blocks_per_head(p.headdim);
  const int64_t updates = p.batch * p.ntokens * p.nheads * p.headdim * p.dstate;
  if (updates < 4 * kRunUpdates) return std::min<int64_t>(1, blocks);
  return std::min({blocks, kMaxRuns, updates / kRunUpdates});
}

inline size_t workspace_bytes(const SelectiveStateUpdate::Problem& p, const Machine&) {
  return static_cast<size_t>(runs_of(p)) * Scratch::bytes(p.dstate);
}

template <bool Machine::*kIsa>
Decline why_not(const SelectiveStateUpdate::Problem& p, const Machine& machine) {
  if (!(machine.*kIsa)) return why::kIsa;
  if (p.state_dtype != DType::kF32) return why::kStateDtype;
  if (!p.dense) return why::kLayout;
  if (p.dstate == 0) return why::kDstate;
  return {};
}

}  // namespace hiss::cpu::state_update
