// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <string>

#include "cuda/selective_scan/bulk_tiles.cuh"
#include "cuda/selective_scan/launch.cuh"
#include "cuda/tile/tensor_map.h"

// What the rows with bulk copies share on the host.
namespace hiss::cuda::selective_scan {

// What they decline, apart from how many channels there are.
inline Decline bulk_declines(const SelectiveScan::Problem& p, const Machine& machine) {
  if (machine.cuda_sm != 90) return why::kDevice;
  if (std::max({p.seqlen, p.batch, p.dim}) > kMostTokens) return why::kLong;
  if (p.precision == Precision::kStrict) return why::kPrecision;
  if (p.dstate != kPassStates) return why::kDstate;
  if (p.layout != Layout::kChannelsLast || !p.dense_bc || !p.blocks_of_16) return why::kLayout;
  // Boxes have to begin at multiples of 16 bytes: so do the channels of a group.
  if (p.dim / p.ngroups * size_of(p.dtype) % 16 != 0) return why::kLayout;
  if (p.packed) return why::kPacked;
  if (p.ncheckpoints > 0) return why::kCheckpoints;
  return {};
}

// Boxes of `tokens` by `inner` elements of the last axis.
inline bool encode(CUtensorMap& map, const ConstTensorView& view, int inner, int tokens) {
  const TensorMapEncoder encoder = tensor_map_encoder();
  if (encoder == nullptr) return false;
  constexpr int kMostAxes = 4;
  const int rank = view.rank;
  cuuint64_t sizes[kMostAxes], strides[kMostAxes];
  cuuint32_t box[kMostAxes] = {static_cast<cuuint32_t>(inner), 1, 1, 1};
  cuuint32_t steps[kMostAxes] = {1, 1, 1, 1};
  box[rank - 2] = static_cast<cuuint32_t>(tokens);
  for (int i = 0; i < rank; ++i) {
    const int axis = rank - 1 - i;
    sizes[i] = static_cast<cuuint64_t>(view.shape[axis]);
    // Of an axis with one element the stride is not used, but checked.
    const int64_t stride = view.shape[axis] > 1 ? view.stride[axis] : 16;
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(stride * size_of(view.dtype));
  }
  return encoder(&map, tensor_map_type(view.dtype), static_cast<cuuint32_t>(rank),
                 const_cast<void*>(view.data), sizes, strides, box, steps,
                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                 CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// The maps of a scan whose tiles are `channels` by `tokens`, a block having `block_channels`.
inline Status bulk_scan_of(std::string_view name, const SelectiveScan::Args& a, int channels,
                           int tokens, int64_t block_channels, BulkScan& scan) {
  scan = {.maps = {}, .args = ScanArgs::of(a)};
  BulkMaps& maps = scan.maps;
  // Without tokens there is nothing to describe, and nothing is copied.
  if (a.u.shape[1] > 0 && a.u.elements() > 0 &&
      !(encode(maps.u, a.u, channels, tokens) && encode(maps.dt, a.dt, channels, tokens) &&
        (!a.z.present() || encode(maps.z, a.z, channels, tokens)) &&
        encode(maps.B, a.B, kPassStates, tokens) && encode(maps.C, a.C, kPassStates, tokens)))
    return Internal(std::string(name) + ": the driver made no tensor map");
  scan.args.blocks_of_group = ceil_div(scan.args.group_dim, block_channels);
  scan.args.y.tile = (scan.args.reverse ? -1 : 1) * scan.args.y.token * size_of(a.y.dtype) * tokens;
  return {};
}

inline int64_t blocks_of(const ScanArgs& args) {
  return args.sequences.nseq * args.blocks_of_group * (args.dim / args.group_dim);
}

}  // namespace hiss::cuda::selective_scan
