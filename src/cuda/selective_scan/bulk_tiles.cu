// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Mamba-1 scan of many channels on Hopper: a block of two warps has 32 channels of a sequence, its
// tiles come by bulk tensor copies. docs/kernels/selective_scan_cuda.md.
//
// Does not serve strict, whose sums must not depend on which row a cut of the batch gets.

#include <algorithm>
#include <string>

#include "cuda/selective_scan/bulk_tiles.cuh"
#include "cuda/selective_scan/launch.cuh"
#include "cuda/tile/tensor_map.h"

namespace hiss::cuda {
namespace {

using namespace selective_scan;  // the pieces this file is made of

constexpr std::string_view kName = "selective_scan/cuda.sm90.bulk_tiles";

int64_t blocks_of(const SelectiveScan::Problem& p, int64_t block_channels) {
  return p.nseq * p.ngroups * ceil_div(p.dim / p.ngroups, block_channels);
}

Decline why_not(const SelectiveScan::Problem& p, const Machine& machine) {
  if (machine.cuda_sm != 90) return why::kDevice;
  if (std::max({p.seqlen, p.batch, p.dim, blocks_of(p, BulkTiles::kBlockChannels)}) > kMostTokens)
    return why::kLong;
  if (p.precision == Precision::kStrict) return why::kPrecision;
  if (p.dstate != kPassStates) return why::kDstate;
  if (p.layout != Layout::kChannelsLast || !p.dense_bc || !p.blocks_of_16) return why::kLayout;
  // Boxes have to begin at multiples of 16 bytes: so do the channels of a group.
  if (p.dim / p.ngroups * size_of(p.dtype) % 16 != 0) return why::kLayout;
  if (p.packed) return why::kPacked;
  if (p.ncheckpoints > 0) return why::kCheckpoints;
  // Of fewer, warps that help each other make more.
  if (blocks_of(p, HelpedChannels::kBlockChannels) <= kHelpedBlocks * machine.num_sms)
    return why::kShort;
  return {};
}

// Boxes of the tokens of a tile by `inner` elements of the last axis.
bool encode(CUtensorMap& map, const ConstTensorView& view, int inner) {
  const TensorMapEncoder encoder = tensor_map_encoder();
  if (encoder == nullptr) return false;
  constexpr int kMostAxes = 4;
  const int rank = view.rank;
  cuuint64_t sizes[kMostAxes], strides[kMostAxes];
  cuuint32_t box[kMostAxes] = {static_cast<cuuint32_t>(inner), 1, 1, 1};
  cuuint32_t steps[kMostAxes] = {1, 1, 1, 1};
  box[rank - 2] = BulkTiles::kTokens;
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

template <class T, bool kReverse>
Status launch_tiles(const BulkScan& scan, cudaStream_t stream) {
  constexpr int kBytes = BulkTiles::shared_bytes(sizeof(T));
  const ScanArgs& args = scan.args;
  const int64_t blocks = args.sequences.nseq * args.blocks_of_group * (args.dim / args.group_dim);
  HISS_RETURN_IF_ERROR(allow_shared(kName, scan_tiles<T, kReverse>, kBytes));
  scan_tiles<T, kReverse>
      <<<static_cast<unsigned>(blocks), BulkTiles::kThreads, kBytes, stream>>>(scan);
  return launched(kName);
}

Status run(const SelectiveScan::Args& a, const Launch& launch) {
  constexpr int kChannels = BulkTiles::kBlockChannels;
  BulkScan scan{.maps = {}, .args = ScanArgs::of(a)};
  BulkMaps& maps = scan.maps;
  // Without tokens there is nothing to describe, and nothing is copied.
  if (a.u.shape[1] > 0 && !(encode(maps.u, a.u, kChannels) && encode(maps.dt, a.dt, kChannels) &&
                            (!a.z.present() || encode(maps.z, a.z, kChannels)) &&
                            encode(maps.B, a.B, kPassStates) && encode(maps.C, a.C, kPassStates)))
    return Internal(std::string(kName) + ": the driver made no tensor map");
  ScanArgs& args = scan.args;
  args.blocks_of_group = ceil_div(args.group_dim, kChannels);
  args.y.tile = (args.reverse ? -1 : 1) * args.y.token * BulkTiles::kTokens * size_of(a.y.dtype);
  return with_element(a.u.dtype, [&]<class T>() -> Status {
    return args.reverse ? launch_tiles<T, true>(scan, stream_of(launch))
                        : launch_tiles<T, false>(scan, stream_of(launch));
  });
}

}  // namespace

namespace selective_scan {
extern constinit const Kernel<SelectiveScan> bulk_tiles;
constinit const Kernel<SelectiveScan> bulk_tiles{.name = kName,
                                                 .why_not = why_not,
                                                 .workspace_bytes = nullptr,
                                                 .run = run,
                                                 .device = Device::kCuda};
}  // namespace selective_scan
}  // namespace hiss::cuda
