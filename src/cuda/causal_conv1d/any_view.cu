// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of any view, any width: the row below the fast ones.
//
// A thread makes one output; neighbours in a block are neighbours along the axis with the smaller
// stride. Inputs are read width times, from L1 mostly.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order.

#include "cuda/causal_conv1d/filter.cuh"

namespace hiss::cuda {
namespace {

constexpr std::string_view kName = "causal_conv1d/cuda.sm80.any_view";
constexpr int kThreads = 256;

template <class T, bool kTokensFastest>
__global__ void conv_any_view(const __grid_constant__ Conv conv) {
  const int64_t item = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t inner = kTokensFastest ? conv.seqlen : conv.dim;
  const int64_t outer = kTokensFastest ? conv.dim : conv.seqlen;
  if (item >= conv.batch * inner * outer) return;
  const int64_t row = item / (inner * outer), rest = item % (inner * outer);
  const int64_t token = kTokensFastest ? rest % inner : rest / inner;
  const int64_t channel = kTokensFastest ? rest / inner : rest % inner;

  const Span span = conv.sequences.with(row, token);
  const int64_t i = conv.reverse ? span.end - 1 - token : token - span.begin;
  float sum = conv.bias == nullptr ? 0.0f : conv.bias[channel * conv.bias_stride];
  for (int64_t k = 0; k < conv.width; ++k)
    sum = fmaf(conv.weight[channel * conv.weight_stride[0] + k * conv.weight_stride[1]],
               input_at<T>(conv, span, i - (conv.width - 1) + k, channel), sum);
  static_cast<T*>(
      conv.y)[row * conv.y_stride[0] + token * conv.y_stride[1] + channel * conv.y_stride[2]] =
      from_float<T>(conv.silu ? silu(sum) : sum);
}

Decline why_not(const CausalConv1d::Problem&, const Machine& machine) {
  return machine.cuda_sm < 80 ? why::kDevice : Decline();
}

Status run(const CausalConv1d::Args& args, const Launch& launch) {
  const Conv conv = conv_of(args);
  const cudaStream_t stream = stream_of(launch);
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    if (const int64_t items = conv.batch * conv.seqlen * conv.dim; items > 0) {
      const auto function = std::abs(conv.x_stride[1]) < std::abs(conv.x_stride[2])
                                ? conv_any_view<T, true>
                                : conv_any_view<T, false>;
      function<<<static_cast<unsigned>(ceil_div(items, kThreads)), kThreads, 0, stream>>>(conv);
      HISS_RETURN_IF_ERROR(launched(kName));
    }
    return launch_final_state<T>(kName, conv, stream);
  });
}

}  // namespace

namespace causal_conv1d {
extern constinit const Kernel<CausalConv1d> any_view;
constinit const Kernel<CausalConv1d> any_view{.name = kName,
                                              .why_not = why_not,
                                              .workspace_bytes = nullptr,
                                              .run = run,
                                              .device = Device::kCuda};
}  // namespace causal_conv1d
}  // namespace hiss::cuda
