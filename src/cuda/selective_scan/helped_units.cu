// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Mamba-1 scan of some 25 to 40 channels a multiprocessor on Hopper: blocks of up to five units of
// eight channels, a block to a multiprocessor. docs/kernels/selective_scan_cuda.md.
//
// Does not serve strict, whose sums must not depend on how many lanes a channel gets.

#include "cuda/selective_scan/bulk_launch.cuh"
#include "cuda/selective_scan/helped_units.cuh"

namespace hiss::cuda {
namespace {

using namespace selective_scan;  // the pieces this file is made of

constexpr std::string_view kName = "selective_scan/cuda.sm90.helped_units";

// Fewer to a multiprocessor are better off with more lanes a channel.
constexpr int kFewest = 4;
// What a block needs until its first tile is there is not repaid by fewer tokens.
constexpr int64_t kShortest = 256;

// Units of a block, so that there is a block for each multiprocessor; beyond the most: none.
int units_of(int64_t nseq, int64_t ngroups, int64_t group_dim, int num_sms) {
  const int64_t units = ceil_div(group_dim, Unit::kUnitChannels);
  int of_block = 1;
  while (of_block <= Unit::kMost && nseq * ngroups * ceil_div(units, of_block) > num_sms)
    ++of_block;
  return of_block;
}

Decline why_not(const SelectiveScan::Problem& p, const Machine& machine) {
  if (const Decline declined = bulk_declines(p, machine); !declined.empty()) return declined;
  if (p.seqlen < kShortest) return why::kShort;
  const int units = units_of(p.nseq, p.ngroups, p.dim / p.ngroups, machine.num_sms);
  if (units < kFewest) return why::kFewChannels;
  return units <= Unit::kMost ? Decline() : why::kShort;
}

template <class T, bool kReverse>
Status launch_units(const BulkScan& scan, int units, cudaStream_t stream) {
  const int bytes = Unit::shared_bytes(units, sizeof(T));
  HISS_RETURN_IF_ERROR(allow_shared(kName, scan_units<T, kReverse>, bytes));
  scan_units<T, kReverse>
      <<<static_cast<unsigned>(blocks_of(scan.args)), UnitRoles(units).threads(), bytes, stream>>>(
          scan, units);
  return launched(kName);
}

Status run(const SelectiveScan::Args& args, const Launch& launch) {
  const int64_t ngroups = args.B.shape[2];
  const int units =
      units_of(args.u.shape[0], ngroups, args.u.shape[2] / ngroups, this_machine().num_sms);
  BulkScan scan;
  HISS_RETURN_IF_ERROR(bulk_scan_of(kName, args, Unit::kUnitChannels, Unit::kTokens,
                                    units * Unit::kUnitChannels, scan));
  return with_element(args.u.dtype, [&]<class T>() -> Status {
    return scan.args.reverse ? launch_units<T, true>(scan, units, stream_of(launch))
                             : launch_units<T, false>(scan, units, stream_of(launch));
  });
}

}  // namespace

namespace selective_scan {
extern constinit const Kernel<SelectiveScan> helped_units;
constinit const Kernel<SelectiveScan> helped_units{.name = kName,
                                                   .why_not = why_not,
                                                   .workspace_bytes = nullptr,
                                                   .run = run,
                                                   .device = Device::kCuda};
}  // namespace selective_scan
}  // namespace hiss::cuda
