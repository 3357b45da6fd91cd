// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-first tensors: a lane has vectors of neighbouring tokens, and gets
// the width-1 inputs before them from the lane beside it.
//
// Rows that follow one another in memory are one piece of it, whose vectors are dealt to the lanes
// (joined_rows.cuh); short ones (rows_in_shared.cuh) and short packed sequences (packed_tiles.cuh)
// pass through shared memory; others are walked row by row (separate_rows.cuh). All loads of a
// thread are issued before the first is used. Bound by memory: docs/kernels/causal_conv1d_cuda.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order.

#include "cuda/causal_conv1d/launches.cuh"

namespace hiss::cuda::causal_conv1d {

namespace {

Decline why_not(const CausalConv1d::Problem& p, const Machine& machine) {
  return declines(p, machine, Layout::kChannelsFirst);
}

Status run(const CausalConv1d::Args& args, const Launch& launch) {
  const Conv conv = conv_of(args);
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    return launch_lanes_over_time<T>(args, conv, stream_of(launch));
  });
}

}  // namespace

extern constinit const Kernel<CausalConv1d> lanes_over_time;
constinit const Kernel<CausalConv1d> lanes_over_time{.name = kLanesOverTime,
                                                     .why_not = why_not,
                                                     .workspace_bytes = nullptr,
                                                     .run = run,
                                                     .device = Device::kCuda};

}  // namespace hiss::cuda::causal_conv1d
