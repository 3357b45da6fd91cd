// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdlib>
#include <limits>

#include "cuda/launch.h"
#include "cuda/selective_scan/scan.cuh"

// From arguments to a launch of the scan: what its rows share.
namespace hiss::cuda::selective_scan {

// Many channels: the fewest instructions a state, warps on their own; along time more tokens, so
// that rows are read in longer pieces.
using ManyChannels = Shape<16, 2, 1, 8, 2, 20, false>;
using ManyAlongTime = Shape<32, 2, 1, 16, 2, 10, false>;
// Few: up to two blocks of the first to a multiprocessor, up to five of the second (`helped.cuh`).
using FewChannels = Shape<16, 8, 1, 32, 2, 3, true>;
using HelpedChannels = Shape<16, 2, 1, 16, 3, 4, true>;
static_assert(FewChannels::kBlockChannels == HelpedChannels::kBlockChannels);
inline constexpr int64_t kFewBlocks = 2, kHelpedBlocks = 5;

// Tokens of a sequence are counted in 32 bits.
inline constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max() - 1024;

// How u, dt, z and y can be moved, and B and C with them: a property of strides and addresses.
inline Access access_of(const SelectiveScan::Args& a) {
  constexpr int64_t kFurthest = std::numeric_limits<int32_t>::max() / 128;
  const bool along_time = std::abs(a.u.stride[1]) < std::abs(a.u.stride[2]);
  const int dense = along_time ? 1 : 2;
  const int64_t width = 16 / size_of(a.u.dtype);
  bool vectors = along_time ? a.direction == Direction::kForward && !a.cu_seqlens.present()
                            : a.u.shape[2] / a.B.shape[2] % width == 0;
  for (const ConstTensorView& v : {a.u, a.dt, a.z, ConstTensorView(a.y)})
    if (v.present())
      vectors = vectors && v.stride[dense] == 1 && aligned_rows(v, dense, 16) &&
                std::abs(v.stride[3 - dense]) <= kFurthest;
  if (!along_time)
    for (const ConstTensorView& v : {a.B, a.C})
      vectors = vectors && v.stride[3] == 1 && aligned_rows(v, 3, 4 * size_of(v.dtype));
  if (along_time) return vectors ? Access::kAlongTime : Access::kSinglyAlongTime;
  return vectors ? Access::kAlongChannels : Access::kSinglyAlongChannels;
}

template <class V>
Status launch_scan(std::string_view name, ScanArgs args, cudaStream_t stream) {
  using S = typename V::S;
  const int64_t nseq = args.sequences.nseq,
                segments = V::kOutput ? args.segments : args.segments - 1;
  if (args.dim == 0 || nseq == 0 || segments == 0) return {};
  args.blocks_of_group = ceil_div(args.group_dim, S::kBlockChannels);
  const int64_t blocks = nseq * segments * args.blocks_of_group * (args.dim / args.group_dim);
  ElementsOf<V>::prepare(args), RatesOf<V>::prepare(args);
  constexpr int kBytes = S::shared_bytes(V::kWhole, sizeof(typename V::T));
  HISS_RETURN_IF_ERROR(allow_shared(name, scan<V>, kBytes));
  if constexpr (V::kRole == Role::kSegments)
    start_overlapped(scan<V>, static_cast<unsigned>(blocks), S::kThreads, kBytes, stream, args);
  else
    scan<V><<<static_cast<unsigned>(blocks), S::kThreads, kBytes, stream>>>(args);
  return launched(name);
}

}  // namespace hiss::cuda::selective_scan
