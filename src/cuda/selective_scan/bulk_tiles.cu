// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Mamba-1 scan of many channels on Hopper: a block of two warps has 32 channels of a sequence, its
// tiles come by bulk tensor copies. docs/kernels/selective_scan_cuda.md.
//
// Does not serve strict, whose sums must not depend on which row a cut of the batch gets.

#include "cuda/selective_scan/bulk_launch.cuh"

namespace hiss::cuda {
namespace {

using namespace selective_scan;  // the pieces this file is made of

constexpr std::string_view kName = "selective_scan/cuda.sm90.bulk_tiles";

int64_t blocks_of(const SelectiveScan::Problem& p, int64_t block_channels) {
  return p.nseq * p.ngroups * ceil_div(p.dim / p.ngroups, block_channels);
}

Decline why_not(const SelectiveScan::Problem& p, const Machine& machine) {
  if (const Decline declined = bulk_declines(p, machine); !declined.empty()) return declined;
  if (blocks_of(p, BulkTiles::kBlockChannels) > kMostTokens) return why::kLong;
  // Of fewer, warps that help each other make more.
  if (blocks_of(p, HelpedChannels::kBlockChannels) <= kHelpedBlocks * machine.num_sms)
    return why::kShort;
  return {};
}

template <class T, bool kReverse>
Status launch_tiles(const BulkScan& scan, cudaStream_t stream) {
  constexpr int kBytes = BulkTiles::shared_bytes(sizeof(T));
  HISS_RETURN_IF_ERROR(allow_shared(kName, scan_tiles<T, kReverse>, kBytes));
  scan_tiles<T, kReverse><<<static_cast<unsigned>(selective_scan::blocks_of(scan.args)),
                            BulkTiles::kThreads, kBytes, stream>>>(scan);
  return launched(kName);
}

Status run(const SelectiveScan::Args& args, const Launch& launch) {
  BulkScan scan;
  HISS_RETURN_IF_ERROR(bulk_scan_of(kName, args, BulkTiles::kBlockChannels, BulkTiles::kTokens,
                                    BulkTiles::kBlockChannels, scan));
  return with_element(args.u.dtype, [&]<class T>() -> Status {
    return scan.args.reverse ? launch_tiles<T, true>(scan, stream_of(launch))
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
