// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-first tensors with long rows, one vector of tokens a lane.
//
// A warp has a stretch of one row, so its filter is loaded once. Vectors are aligned in memory, not
// in the row: the first and the last of a row may hold elements of its neighbours, which are left
// alone. The width-1 inputs before a vector come from the neighbouring lane. Bound by memory:
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
constexpr int kBefore = 4;   // inputs from before (reverse: after) a vector; width <= 4

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

// In the order of consumption: input[kBefore + i] is the i-th of the vector.
template <int kVector, bool kReverse>
__device__ __forceinline__ void arrange(const float (&own)[kVector], const float (&near)[kBefore],
                                        float (&input)[kBefore + kVector]) {
#pragma unroll
  for (int j = 0; j < kBefore; ++j) input[j] = near[kReverse ? kBefore - 1 - j : j];
#pragma unroll
  for (int i = 0; i < kVector; ++i) input[kBefore + i] = own[kReverse ? kVector - 1 - i : i];
}

// The vector at tokens `start` ... and what comes before it.
template <class T, int kVector, bool kReverse>
__device__ __forceinline__ void load_inputs(const T* row, int64_t start, int64_t length,
                                            float (&input)[kBefore + kVector]) {
  float own[kVector], near[kBefore];
  load_tokens(row, start, length, true, own);
  load_tokens(row, kReverse ? start + kVector : start - kBefore, length, kVector >= kBefore, near);
  arrange<kVector, kReverse>(own, near, input);
}

// Tokens [start, start + kCount) as they lie in memory, so that nothing waits for them yet; zeros
// where the row has none.
template <class T, int kCount>
__device__ __forceinline__ void load_raw(const T* row, int64_t start, int64_t length, bool aligned,
                                         Pack<T, kCount>& to) {
  if (aligned && start >= 0 && start + kCount <= length) {
    to = *reinterpret_cast<const Pack<T, kCount>*>(row + start);
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    to.element[i] = start + i >= 0 && start + i < length ? row[start + i] : from_float<T>(0.0f);
}

// What lies beside a lane's vector: the end of the vector before, or the beginning of the one
// after. The lane at the border of 32 vectors takes it from `beyond`, the neighbouring 32.
template <class T, int kVector, bool kReverse>
__device__ __forceinline__ Pack<T, kBefore> beside(const Pack<T, kVector>& own,
                                                   const Pack<T, kVector>& beyond) {
  constexpr int kWords = kBefore * sizeof(T) / 4,
                kFrom = kReverse ? 0 : (kVector - kBefore) * sizeof(T) / 4;
  const int lane = threadIdx.x % 32, border = kReverse ? 0 : 31;
  const auto* here = reinterpret_cast<const uint32_t*>(&own) + kFrom;
  const auto* there = reinterpret_cast<const uint32_t*>(&beyond) + kFrom;
  Pack<T, kBefore> result;
#pragma unroll
  for (int i = 0; i < kWords; ++i)
    reinterpret_cast<uint32_t*>(&result)[i] =
        __shfl_sync(~0u, lane == border ? there[i] : here[i], (lane + (kReverse ? 1 : 31)) % 32);
  return result;
}

template <class T, int kCount>
__device__ __forceinline__ void unpack(const Pack<T, kCount>& from, float (&to)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = to_float(from.element[i]);
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

// A vector within one sequence, whose tokens lie at x[0 ... length) and y[0 ... length).
template <class T, int kVector, int kWidth, bool kReverse>
__device__ __forceinline__ void finish_vector(const Conv& conv, const float (&tap)[kWidth],
                                              float bias, int64_t s, int64_t channel, int64_t start,
                                              int64_t length, float (&input)[kBefore + kVector],
                                              T* y) {
  // The number of its first input in the order of consumption.
  const int64_t first = kReverse ? length - kVector - start : start;
  if (first < kWidth - 1 && conv.initial != nullptr) {
#pragma unroll
    for (int i = 1 - kWidth; i < kVector; ++i)
      if (first + i < 0 && first + i > -kWidth)
        input[kBefore + i] = earlier_input(conv, s, first + i, channel);
  }
  if (conv.silu)
    conv_vector<T, kVector, kWidth, kReverse, true>(tap, bias, start, length, input, y);
  else
    conv_vector<T, kVector, kWidth, kReverse, false>(tap, bias, start, length, input, y);
}

template <class T, int kVector, int kWidth, bool kReverse, bool kPacked>
__global__ void __launch_bounds__(kThreads)
    conv_lanes_over_time(const __grid_constant__ Conv conv, const __grid_constant__ Cut cut) {
  const int64_t item = int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  int64_t stretch, channel;
  const int64_t row = cut.by_channel.divide(cut.by_row.divide(item, stretch), channel);
  if (row >= conv.batch) return;
  const int64_t length = conv.seqlen;
  const T* x = static_cast<const T*>(conv.x) + row * conv.x_stride[0] + channel * conv.x_stride[2];
  T* y = static_cast<T*>(conv.y) + row * conv.y_stride[0] + channel * conv.y_stride[2];
  // Elements between the last aligned address and the row.
  const auto shift = static_cast<int64_t>(reinterpret_cast<uintptr_t>(x) / sizeof(T) % kVector);
  const int64_t start = (stretch * (32 * kVectors) + threadIdx.x % 32) * kVector - shift;

  float tap[kWidth], input[kBefore + kVector];
  if constexpr (!kPacked && kVector >= kBefore) {
    Pack<T, kVector> own[kVectors];
#pragma unroll
    for (int u = 0; u < kVectors; ++u)
      load_raw(x, start + u * (32 * kVector), length, true, own[u]);
    // Beside the whole stretch.
    constexpr int kEdge = kReverse ? kVectors - 1 : 0;
    const int64_t edge = start + kEdge * (32 * kVector);
    Pack<T, kBefore> outer;
    if (threadIdx.x % 32 == (kReverse ? 31 : 0))
      load_raw(x, kReverse ? edge + kVector : edge - kBefore, length, true, outer);
    load_taps<kWidth>(conv, channel, tap);
    const float bias = bias_of(conv, channel);
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      Pack<T, kBefore> raw = beside<T, kVector, kReverse>(own[u], own[u == kEdge ? u
                                                                      : kReverse ? u + 1
                                                                                 : u - 1]);
      if (u == kEdge && threadIdx.x % 32 == (kReverse ? 31 : 0)) raw = outer;
      float mine[kVector], near[kBefore];
      unpack(own[u], mine), unpack(raw, near);
      arrange<kVector, kReverse>(mine, near, input);
      const int64_t at = start + u * (32 * kVector);
      if (at < length)
        finish_vector<T, kVector, kWidth, kReverse>(conv, tap, bias, row, channel, at, length,
                                                    input, y);
    }
  } else {
    load_taps<kWidth>(conv, channel, tap);
    const float bias = bias_of(conv, channel);
    for (int u = 0; u < kVectors; ++u) {
      const int64_t at = start + u * (32 * kVector);
      // Once for each sequence that the vector has tokens of.
      for (int64_t token = max(at, int64_t{0}); token < min(at + kVector, length);) {
        const Span span = conv.sequences.with(row, token);
        const int64_t from = at - span.begin, tokens = span.end - span.begin;
        load_inputs<T, kVector, kReverse>(x + span.begin, from, tokens, input);
        finish_vector<T, kVector, kWidth, kReverse>(conv, tap, bias, span.s, channel, from, tokens,
                                                    input, y + span.begin);
        token = span.end;
      }
    }
  }
}

Decline why_not(const CausalConv1d::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.layout != Layout::kChannelsFirst) return why::kLayout;
  if (p.width < 2 || p.width > 4) return why::kWidth;
  return {};
}

template <class T, int kVector, int kWidth>
Status launch_conv(const Conv& conv, cudaStream_t stream) {
  // A row that does not begin at a vector touches one more.
  const int64_t stretches = ceil_div(conv.seqlen + kVector - 1, 32 * kVectors * kVector);
  const Cut cut{Divider(stretches), Divider(conv.dim)};
  const int64_t blocks = ceil_div(conv.batch * conv.dim * stretches, kThreads / 32);
  const bool packed = conv.sequences.cu_seqlens != nullptr;
  const auto function = conv.reverse
                            ? (packed ? conv_lanes_over_time<T, kVector, kWidth, true, true>
                                      : conv_lanes_over_time<T, kVector, kWidth, true, false>)
                            : (packed ? conv_lanes_over_time<T, kVector, kWidth, false, true>
                                      : conv_lanes_over_time<T, kVector, kWidth, false, false>);
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
