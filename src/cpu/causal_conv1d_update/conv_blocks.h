// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdint>

#include "hiss/ops/causal_conv1d_update.h"

// How a convolution update is cut, for all instruction sets: nothing here is compiled for one of
// them.
namespace hiss::cpu::conv_update {

inline constexpr int64_t kMaxWidth = 256;  // a window of a vector of channels lives on the stack
inline constexpr int64_t kTileTokens = 16;
inline constexpr int64_t kBlockChannels = 256;
// Blocks are dealt out in runs, none with less than this many multiply-adds, which take some ten
// microseconds.
inline constexpr int64_t kRunProducts = 1 << 16;

inline int64_t blocks_per_row(int64_t dim) { return (dim + kBlockChannels - 1) / kBlockChannels; }

inline int64_t runs_of(const CausalConv1dUpdate::Problem& p) {
  const int64_t products = p.batch * p.ntokens * p.dim * p.width;
  return std::min(p.batch * blocks_per_row(p.dim), std::max<int64_t>(1, products / kRunProducts));
}

template <bool Machine::*kIsa>
Decline why_not(const CausalConv1dUpdate::Problem& p, const Machine& machine) {
  if (!(machine.*kIsa)) return why::kIsa;
  if (p.width > kMaxWidth) return why::kWidth;
  return {};
}

}  // namespace hiss::cpu::conv_update
