// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Mamba-1 scan, sequential over time with the states in registers.
//
// A block takes some channels of one sequence, a few lanes a channel, each lane some of its states.
// u, dt and z come in tiles of tokens by asynchronous copies two tiles ahead; delta and delta * u
// of a tile are made once and shared; sums over the states are exchanged between the lanes for as
// many tokens at once as there are lanes. Bound by the special-function unit (an exponential a
// state) and by instruction issue, both near the time of memory:
// docs/kernels/selective_scan_cuda.md.
//
// Serves strict: a token's arithmetic does not depend on where in a tile or a block it stands, and
// the strict class always gets the same lanes a channel.

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

template <class T, class S, bool kWhole>
Status launch_with(Access access, const ScanArgs& args, cudaStream_t stream) {
  if (access == Access::kAlongChannels)
    return launch_scan<Variant<T, S, Access::kAlongChannels, kWhole, Role::kSequences>>(kName, args,
                                                                                        stream);
  return launch_scan<Variant<T, S, Access::kAlongTime, kWhole, Role::kSequences>>(kName, args,
                                                                                  stream);
}

Status run(const SelectiveScan::Args& args, const Launch& launch) {
  const Access access = access_of(args);
  const cudaStream_t stream = stream_of(launch);
  ScanArgs scan_args = ScanArgs::of(args);
  scan_args.carried = reinterpret_cast<float*>(launch.workspace.data());
  const bool many =
      args.precision == Precision::kStrict ||
      scan_args.sequences.nseq * scan_args.dim >= kManyChannels * this_machine().num_sms;
  return with_element(args.u.dtype, [&]<class T>() -> Status {
    if (access == Access::kSingly)
      return launch_scan<Variant<T, ManyChannels, Access::kSingly, false, Role::kSequences>>(
          kName, scan_args, stream);
    if (scan_args.dstate != kPassStates)
      return launch_with<T, ManyChannels, false>(access, scan_args, stream);
    if (many) return launch_with<T, ManyChannels, true>(access, scan_args, stream);
    return launch_with<T, FewChannels, true>(access, scan_args, stream);
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
