// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Mamba-1 scan, sequential over time with the states in registers.
//
// A block, mostly one warp, takes some channels of one sequence, a few lanes a channel, each lane
// some of its states. u, dt and z come in tiles of tokens by asynchronous copies; delta and
// delta * u of a tile are made once and shared; sums over the states are exchanged between the
// lanes for as many tokens at once as there are lanes. Bound by the special-function unit (an
// exponential a state), instruction issue and what shared memory gives to registers, each near the
// time of memory: docs/kernels/selective_scan_cuda.md.
//
// Serves strict: a token's arithmetic does not depend on where in a tile or a block it stands, and
// the strict class always gets the same lanes a channel.

#include "cuda/selective_scan/helped.cuh"
#include "cuda/selective_scan/launch.cuh"

namespace hiss::cuda {
namespace {

using namespace selective_scan;  // the pieces this file is made of

constexpr std::string_view kName = "selective_scan/cuda.sm80.lanes_over_state";

Decline why_not(const SelectiveScan::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.seqlen > kMostTokens) return why::kLong;
  return {};
}

// States between passes, where dstate takes several.
size_t workspace_bytes(const SelectiveScan::Problem& p, const Machine&) {
  const int64_t passes = ceil_div(p.dstate, kPassStates), width = ManyChannels::kBlockChannels;
  if (passes <= 1) return 0;
  const int64_t blocks = p.nseq * p.ngroups * ceil_div(p.dim / p.ngroups, width);
  return static_cast<size_t>(blocks * passes * kPassStates * width) * sizeof(float);
}

template <class T, class S, Access kAccess, bool kWhole>
Status launch(const ScanArgs& args, cudaStream_t stream) {
  return launch_scan<Variant<T, S, kAccess, kWhole, Role::kSequences>>(kName, args, stream);
}

// dstate 16, elements in vectors, channels that leave schedulers without warps: more lanes a
// channel, or warps that only scan, one for each scheduler.
template <class T, Access kAccess>
Status launch_few(bool helped, const ScanArgs& args, cudaStream_t stream) {
  if (helped)
    return launch_helped<Variant<T, HelpedChannels, kAccess, true, Role::kSequences>>(kName, args,
                                                                                      stream);
  return launch<T, FewChannels, kAccess, true>(args, stream);
}

template <class T>
Status launch_whole(Access access, bool strict, const ScanArgs& args, cudaStream_t stream) {
  const int64_t blocks = args.sequences.nseq * (args.dim / args.group_dim) *
                         ceil_div(args.group_dim, FewChannels::kBlockChannels),
                multiprocessors = this_machine().num_sms;
  if (!strict && !singly(access) && blocks <= kHelpedBlocks * multiprocessors) {
    const bool helped = blocks > kFewBlocks * multiprocessors && args.checkpoints.data == nullptr;
    return along_time(access) ? launch_few<T, Access::kAlongTime>(helped, args, stream)
                              : launch_few<T, Access::kAlongChannels>(helped, args, stream);
  }
  switch (access) {
    case Access::kAlongChannels:
      return launch<T, ManyChannels, Access::kAlongChannels, true>(args, stream);
    case Access::kAlongTime:
      return launch<T, ManyAlongTime, Access::kAlongTime, true>(args, stream);
    case Access::kSinglyAlongTime:
      return launch<T, ManyChannels, Access::kSinglyAlongTime, true>(args, stream);
    default:
      return launch<T, ManyChannels, Access::kSinglyAlongChannels, false>(args, stream);
  }
}

template <class T>
Status launch_any(Access access, const ScanArgs& args, cudaStream_t stream) {
  switch (access) {
    case Access::kAlongChannels:
      return launch<T, ManyChannels, Access::kAlongChannels, false>(args, stream);
    case Access::kAlongTime:
      return launch<T, ManyChannels, Access::kAlongTime, false>(args, stream);
    case Access::kSinglyAlongTime:
      return launch<T, ManyChannels, Access::kSinglyAlongTime, false>(args, stream);
    default:
      return launch<T, ManyChannels, Access::kSinglyAlongChannels, false>(args, stream);
  }
}

Status run(const SelectiveScan::Args& args, const Launch& launch) {
  const Access access = access_of(args);
  const cudaStream_t stream = stream_of(launch);
  ScanArgs scan_args = ScanArgs::of(args);
  scan_args.carried = reinterpret_cast<float*>(launch.workspace.data());
  return with_element(args.u.dtype, [&]<class T>() -> Status {
    return scan_args.dstate == kPassStates
               ? launch_whole<T>(access, args.precision == Precision::kStrict, scan_args, stream)
               : launch_any<T>(access, scan_args, stream);
  });
}

}  // namespace

namespace selective_scan {
extern constinit const Kernel<SelectiveScan> lanes_over_state;
constinit const Kernel<SelectiveScan> lanes_over_state{.name = kName,
                                                       .why_not = why_not,
                                                       .workspace_bytes = workspace_bytes,
                                                       .run = run,
                                                       .device = Device::kCuda};
}  // namespace selective_scan
}  // namespace hiss::cuda
