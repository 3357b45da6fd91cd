// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Mamba-1 scan of few channels: sequences cut into segments that run side by side.
//
// A first launch takes every segment but the last from a state of zero to its own last state, and
// adds up delta; with these a segment of the second launch, which makes y, begins at the state the
// segments before it leave: h' = exp(A sum delta) h + its own, one segment after another. The
// exponentials are computed twice, so this pays only where channels alone do not fill the device:
// docs/kernels/selective_scan_cuda.md.
//
// Does not serve strict: where a sequence is cut depends on its length and on the device.

#include <algorithm>

#include "cuda/selective_scan/launch.cuh"

namespace hiss::cuda {
namespace {

using namespace selective_scan;  // the pieces this file is made of

constexpr std::string_view kName = "selective_scan/cuda.sm80.split_sequence";

// Where the device would not be full of these with short segments: four warps for as many channels,
// so that a segment is short in time.
using WideBlocks = Shape<16, 8, 1, 16, 2, 5, true>;
static_assert(WideBlocks::kBlockChannels == ManyChannels::kBlockChannels);
constexpr int64_t kWideTokens = 64, kWideBlocks = 6;  // of a segment; to a multiprocessor

// Shorter segments spend their time on filling and emptying the pipeline.
constexpr int64_t kShortest = 16 * ManyChannels::kTokens;
// More of them and a segment spends its time on finding its first state.
constexpr int64_t kMostSegments = 64;

bool in_wide_blocks(int64_t seqlen, int64_t blocks, int num_sms) {
  return blocks * ceil_div(seqlen, kWideTokens) <= kWideBlocks * num_sms &&
         ceil_div(seqlen, kWideTokens) <= kMostSegments;
}

// How many tokens a segment has, so that the device is full of blocks.
int64_t segment_tokens(int64_t seqlen, int64_t blocks, int num_sms) {
  if (in_wide_blocks(seqlen, blocks, num_sms)) return kWideTokens;
  const int64_t wanted =
      std::max<int64_t>(ManyChannels::kBlocks * num_sms / std::max<int64_t>(blocks, 1), 1);
  const int64_t tokens = std::max(ceil_div(seqlen, std::min(wanted, kMostSegments)), kShortest);
  return ceil_div(tokens, ManyChannels::kTokens) * ManyChannels::kTokens;
}

int64_t blocks_of(int64_t nseq, int64_t dim, int64_t ngroups) {
  return nseq * ngroups * ceil_div(dim / ngroups, ManyChannels::kBlockChannels);
}

Decline why_not(const SelectiveScan::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.seqlen > kMostTokens) return why::kLong;
  if (p.precision == Precision::kStrict) return why::kPrecision;
  if (p.dstate != kPassStates) return why::kDstate;
  if (p.layout == Layout::kStrided || !p.dense_bc) return why::kLayout;
  if (p.packed) return why::kPacked;
  if (p.ncheckpoints > 0) return why::kCheckpoints;
  const int64_t blocks = blocks_of(p.nseq, p.dim, p.ngroups);
  // Twice the exponentials: only where channels alone keep less than half of the device busy.
  const int64_t shortest =
      in_wide_blocks(p.seqlen, blocks, machine.num_sms) ? kWideTokens : kShortest;
  if (p.seqlen < 4 * shortest || 2 * blocks > 3 * machine.num_sms) return why::kShort;
  return {};
}

int64_t segments_of(int64_t seqlen, int64_t blocks, int num_sms) {
  return ceil_div(seqlen, segment_tokens(seqlen, blocks, num_sms));
}

size_t workspace_bytes(const SelectiveScan::Problem& p, const Machine& machine) {
  const int64_t segments =
      segments_of(p.seqlen, blocks_of(p.nseq, p.dim, p.ngroups), machine.num_sms);
  return static_cast<size_t>(p.nseq * segments * p.dim * (p.dstate + 1)) * sizeof(float);
}

template <class T, class S, Access kAccess, bool kWhole>
Status launch_both(const ScanArgs& args, cudaStream_t stream) {
  HISS_RETURN_IF_ERROR(
      (launch_scan<Variant<T, S, kAccess, kWhole, Role::kSegmentStates>>(kName, args, stream)));
  return launch_scan<Variant<T, S, kAccess, kWhole, Role::kSegments>>(kName, args, stream);
}

template <class T, class S>
Status launch_vectors(Access access, const ScanArgs& args, cudaStream_t stream) {
  return access == Access::kAlongTime
             ? launch_both<T, S, Access::kAlongTime, true>(args, stream)
             : launch_both<T, S, Access::kAlongChannels, true>(args, stream);
}

Status run(const SelectiveScan::Args& args, const Launch& launch) {
  const Access access = access_of(args);
  const cudaStream_t stream = stream_of(launch);
  ScanArgs a = ScanArgs::of(args);
  const int64_t nseq = a.sequences.nseq, seqlen = args.u.shape[1];
  const int64_t blocks = blocks_of(nseq, a.dim, args.B.shape[2]);
  const int num_sms = this_machine().num_sms;
  a.segment_tokens = segment_tokens(seqlen, blocks, num_sms);
  a.segments = static_cast<int>(ceil_div(seqlen, a.segment_tokens));
  a.segment_states = reinterpret_cast<float*>(launch.workspace.data());
  a.segment_deltas = a.segment_states + nseq * a.segments * a.dim * a.dstate;
  return with_element(args.u.dtype, [&]<class T>() -> Status {
    if (access == Access::kSinglyAlongTime)
      return launch_both<T, ManyChannels, Access::kSinglyAlongTime, false>(a, stream);
    if (access == Access::kSinglyAlongChannels)
      return launch_both<T, ManyChannels, Access::kSinglyAlongChannels, false>(a, stream);
    return in_wide_blocks(seqlen, blocks, num_sms)
               ? launch_vectors<T, WideBlocks>(access, a, stream)
               : launch_vectors<T, ManyChannels>(access, a, stream);
  });
}

}  // namespace

namespace selective_scan {
extern constinit const Kernel<SelectiveScan> split_sequence;
constinit const Kernel<SelectiveScan> split_sequence{.name = kName,
                                                     .why_not = why_not,
                                                     .workspace_bytes = workspace_bytes,
                                                     .run = run,
                                                     .device = Device::kCuda};
}  // namespace selective_scan
}  // namespace hiss::cuda
