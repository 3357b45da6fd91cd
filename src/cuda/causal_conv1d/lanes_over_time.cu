// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-first tensors with long rows, one vector of tokens a lane.
//
// A warp has a stretch of one row, so its filter is loaded once. Vectors are aligned in memory, not
// in the row: the first and the last of a row may hold elements of its neighbours, which are left
// alone. The width-1 inputs before a vector are a second load that hits L1. Bound by memory:
// docs/kernels/causal_conv1d_cuda.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order.

#include "cuda/causal_conv1d/filter.cuh"
#include "cuda/tile/divide.cuh"

namespace hiss::cuda {
namespace {

constexpr std::string_view kName = "causal_conv1d/cuda.sm80.lanes_over_time";
constexpr int kThreads = 256;
constexpr int kVectors = 4;  // of a lane
constexpr int kBefore = 4;   // inputs loaded from before (reverse: after) a vector; width <= 4

// Stretches of 32 * kVectors vectors.
struct Cut {
  Divider by_row;      // stretches of a row
  Divider by_channel;  // rows of a batch row
};

// Tokens [start, start + kCount) of a row, zeros where it has none.
template <class T, int kCount>
__device__ __forceinline__ void load_tokens(const T* row, int64_t start, int64_t length,
                                            bool aligned, float (&to)[kCount]) {
  if (aligned && start >= 0 && start + kCount <= length) {
    load_pack<kCount>(row + start, to);
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    to[i] = start + i >= 0 && start + i < length ? to_float(row[start + i]) : 0.0f;
}

// The vector at tokens `start` ... in the order of consumption: input[kBefore + i] is its i-th.
template <class T, int kVector, bool kReverse>
__device__ __forceinline__ void load_inputs(const T* row, int64_t start, int64_t length,
                                            float (&input)[kBefore + kVector]) {
  float own[kVector], near[kBefore];
  load_tokens(row, start, length, true, own);
  load_tokens(row, kReverse ? start + kVector : start - kBefore, length, kVector >= kBefore, near);
#pragma unroll
  for (int j = 0; j < kBefore; ++j) input[j] = near[kReverse ? kBefore - 1 - j : j];
#pragma unroll
  for (int i = 0; i < kVector; ++i) input[kBefore + i] = own[kReverse ? kVector - 1 - i : i];
}

// Its outputs, to the same tokens of y.
template <class T, int kVector, int kWidth, bool kReverse, bool kSilu>
__device__ __forceinline__ void conv_vector(const float (&tap)[kWidth], float bias, int64_t start,
                                            int64_t length, const float (&input)[kBefore + kVector],
                                            T* row) {
  float output[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    output[kReverse ? kVector - 1 - i : i] =
        output_of<kSilu>(tap, bias, input + kBefore + i - (kWidth - 1));
  if (start >= 0 && start + kVector <= length) {
    store_pack(output, row + start);
    return;
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    if (start + i >= 0 && start + i < length) row[start + i] = from_float<T>(output[i]);
}

template <class T, int kVector, int kWidth, bool kReverse>
__global__ void __launch_bounds__(kThreads)
    conv_lanes_over_time(const __grid_constant__ Conv conv, const __grid_constant__ Cut cut) {
  const int64_t item = int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  int64_t stretch, channel;
  const int64_t s = cut.by_channel.divide(cut.by_row.divide(item, stretch), channel);
  if (s >= conv.batch) return;
  const int64_t length = conv.seqlen;
  const T* x = static_cast<const T*>(conv.x) + s * conv.x_stride[0] + channel * conv.x_stride[2];
  T* y = static_cast<T*>(conv.y) + s * conv.y_stride[0] + channel * conv.y_stride[2];
  // Elements between the last aligned address and the row.
  const auto shift = static_cast<int64_t>(reinterpret_cast<uintptr_t>(x) / sizeof(T) % kVector);
  const int64_t start = (stretch * (32 * kVectors) + threadIdx.x % 32) * kVector - shift;

  float input[kVectors][kBefore + kVector];
#pragma unroll
  for (int u = 0; u < kVectors; ++u)
    load_inputs<T, kVector, kReverse>(x, start + u * (32 * kVector), length, input[u]);
  float tap[kWidth];
  load_taps<kWidth>(conv, channel, tap);
  const float bias = bias_of(conv, channel);
#pragma unroll
  for (int u = 0; u < kVectors; ++u) {
    const int64_t at = start + u * (32 * kVector);
    if (at >= length) break;
    // The number of its first input in the order of consumption.
    const int64_t first = kReverse ? length - kVector - at : at;
    if (first < kWidth - 1 && conv.initial != nullptr) {
#pragma unroll
      for (int i = 1 - kWidth; i < kVector; ++i)
        if (first + i < 0 && first + i > -kWidth)
          input[u][kBefore + i] = earlier_input(conv, s, first + i, channel);
    }
    if (conv.silu)
      conv_vector<T, kVector, kWidth, kReverse, true>(tap, bias, at, length, input[u], y);
    else
      conv_vector<T, kVector, kWidth, kReverse, false>(tap, bias, at, length, input[u], y);
  }
}

Decline why_not(const CausalConv1d::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.layout != Layout::kChannelsFirst) return why::kLayout;
  if (p.width < 2 || p.width > 4) return why::kWidth;
  if (p.packed) return why::kPacked;
  return {};
}

template <class T, int kVector, int kWidth>
Status launch_conv(const Conv& conv, cudaStream_t stream) {
  // A row that does not begin at a vector touches one more.
  const int64_t stretches = ceil_div(conv.seqlen + kVector - 1, 32 * kVectors * kVector);
  const Cut cut{Divider(stretches), Divider(conv.dim)};
  const int64_t blocks = ceil_div(conv.batch * conv.dim * stretches, kThreads / 32);
  const auto function = conv.reverse ? conv_lanes_over_time<T, kVector, kWidth, true>
                                     : conv_lanes_over_time<T, kVector, kWidth, false>;
  function<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(conv, cut);
  return launched(kName);
}

template <class T, int kVector>
Status launch_width(const Conv& conv, cudaStream_t stream) {
  switch (conv.width) {
    case 2:
      return launch_conv<T, kVector, 2>(conv, stream);
    case 3:
      return launch_conv<T, kVector, 3>(conv, stream);
    default:
      return launch_conv<T, kVector, 4>(conv, stream);
  }
}

// Whether rows of x and of y lie at the same distance from aligned addresses.
bool in_step(const ConstTensorView& x, const TensorView& y) {
  const auto differ = [&](int axis) {
    return x.shape[axis] > 1 && (x.stride[axis] - y.stride[axis]) * size_of(x.dtype) % 16 != 0;
  };
  const auto distance = reinterpret_cast<uintptr_t>(x.data) - reinterpret_cast<uintptr_t>(y.data);
  return distance % 16 == 0 && !differ(0) && !differ(2);
}

Status run(const CausalConv1d::Args& args, const Launch& launch) {
  const Conv conv = conv_of(args);
  const cudaStream_t stream = stream_of(launch);
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    if (conv.batch * conv.dim * conv.seqlen > 0)
      HISS_RETURN_IF_ERROR((in_step(args.x, args.y) ? launch_width<T, kWidest<T>>(conv, stream)
                                                    : launch_width<T, 1>(conv, stream)));
    return launch_final_state<T>(kName, conv, stream);
  });
}

}  // namespace

namespace causal_conv1d {
extern constinit const Kernel<CausalConv1d> lanes_over_time;
constinit const Kernel<CausalConv1d> lanes_over_time{.name = kName,
                                                     .why_not = why_not,
                                                     .workspace_bytes = nullptr,
                                                     .run = run,
                                                     .device = Device::kCuda};
}  // namespace causal_conv1d
}  // namespace hiss::cuda
