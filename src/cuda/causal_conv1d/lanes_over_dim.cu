// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-last tensors: a thread has a vector of channels of a short tile of
// tokens and loads all its inputs before the first is used.
//
// Parallel over (row, tile of tokens, vector of channels). A block has a few vectors of several
// tiles that follow one another, so that the inputs before a tile, which are another thread's too,
// come from the block's own cache. Bound by memory: docs/kernels/causal_conv1d_cuda.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order, whatever the tile.

#include "cuda/causal_conv1d/launches.cuh"

namespace hiss::cuda::causal_conv1d {

namespace {

Decline why_not(const CausalConv1d::Problem& p, const Machine& machine) {
  return declines(p, machine, Layout::kChannelsLast);
}

// A batch of very short rows that follow one another is cut like one row, so that a thread loads a
// filter for eight tokens. Fewer of them are done sooner by as many threads.
void join_short_rows(Conv& conv) {
  constexpr int64_t kShort = 4, kMany = int64_t{3} << 17;
  if (conv.sequences.cu_seqlens != nullptr || conv.seqlen == 0 || conv.seqlen > kShort ||
      conv.batch * conv.dim < kMany)
    return;
  // Where a row has one token, the next token is that of the next row.
  if (conv.seqlen == 1) conv.x_stride[1] = conv.x_stride[0], conv.y_stride[1] = conv.y_stride[0];
  if (conv.x_stride[0] != conv.seqlen * conv.x_stride[1] ||
      conv.y_stride[0] != conv.seqlen * conv.y_stride[1])
    return;
  conv.sequences.period = conv.seqlen;
  conv.sequences.seqlen = conv.seqlen *= conv.batch;
  conv.batch = 1;
}

Status run(const CausalConv1d::Args& args, const Launch& launch) {
  Conv conv = conv_of(args);
  join_short_rows(conv);
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    return launch_lanes_over_dim<T>(args, conv, stream_of(launch));
  });
}

}  // namespace

extern constinit const Kernel<CausalConv1d> lanes_over_dim;
constinit const Kernel<CausalConv1d> lanes_over_dim{.name = kLanesOverDim,
                                                    .why_not = why_not,
                                                    .workspace_bytes = nullptr,
                                                    .run = run,
                                                    .device = Device::kCuda};

}  // namespace hiss::cuda::causal_conv1d
