// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-first tensors with short rows: many rows in shared memory at once.
//
// A block copies whole rows, as one piece of memory where they lie so, to shared memory; each
// thread convolves a run of up to 32 tokens of one row in place, and the rows are copied out. So
// memory is moved 16 bytes at a time whatever the length of a row, and an element costs no
// division. Bound by memory: docs/kernels/causal_conv1d_cuda.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order.

#include <algorithm>

#include "cuda/causal_conv1d/filter.cuh"

namespace hiss::cuda {
namespace {

constexpr std::string_view kName = "causal_conv1d/cuda.sm80.short_rows";
constexpr int kThreads = 256;
constexpr int kRun = 32;                 // tokens of a thread at most
constexpr int64_t kLongest = 16 * kRun;  // tokens of a row

// How rows are dealt to blocks: `rows` of them each, none from two batch rows.
struct Deal {
  int rows, runs, run;    // a block's rows; a row's runs and their length
  int64_t blocks;         // of one batch row
  bool x_whole, y_whole;  // a block's rows are one aligned piece of memory
};

template <class T>
__device__ void copy_in(const T* from, int64_t row_stride, int rows, int length, bool whole,
                        T* to) {
  const int elements = rows * length;
  int done = 0;
  if (whole) {
    constexpr int kPack = kWidest<T>;
    const auto* packs = reinterpret_cast<const Pack<T, kPack>*>(from);
#pragma unroll 4
    for (int i = threadIdx.x; i < elements / kPack; i += kThreads)
      reinterpret_cast<Pack<T, kPack>*>(to)[i] = packs[i];
    done = elements / kPack * kPack;
    for (int i = done + threadIdx.x; i < elements; i += kThreads) to[i] = from[i];
    return;
  }
  for (int row = threadIdx.x / 32; row < rows; row += kThreads / 32)
    for (int t = threadIdx.x % 32; t < length; t += 32)
      to[row * length + t] = from[row * row_stride + t];
}

template <class T>
__device__ void copy_out(const T* from, int64_t row_stride, int rows, int length, bool whole,
                         T* to) {
  const int elements = rows * length;
  if (whole) {
    constexpr int kPack = kWidest<T>;
    auto* packs = reinterpret_cast<Pack<T, kPack>*>(to);
    for (int i = threadIdx.x; i < elements / kPack; i += kThreads)
      packs[i] = reinterpret_cast<const Pack<T, kPack>*>(from)[i];
    for (int i = elements / kPack * kPack + threadIdx.x; i < elements; i += kThreads)
      to[i] = from[i];
    return;
  }
  for (int row = threadIdx.x / 32; row < rows; row += kThreads / 32)
    for (int t = threadIdx.x % 32; t < length; t += 32)
      to[row * row_stride + t] = from[row * length + t];
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    conv_short_rows(const __grid_constant__ Conv conv, const __grid_constant__ Deal deal) {
  extern __shared__ __align__(16) unsigned char shared[];
  T* tile = reinterpret_cast<T*>(shared);
  const int64_t batch_row = blockIdx.x / deal.blocks;
  const int64_t first = blockIdx.x % deal.blocks * deal.rows;  // channel
  const int rows = static_cast<int>(min(int64_t{deal.rows}, conv.dim - first));
  const int length = static_cast<int>(conv.seqlen);
  copy_in(static_cast<const T*>(conv.x) + batch_row * conv.x_stride[0] + first * conv.x_stride[2],
          conv.x_stride[2], rows, length, deal.x_whole, tile);
  __syncthreads();

  // Before any output takes the place of an input that a neighbour needs.
  const int row = threadIdx.x / deal.runs, begin = threadIdx.x % deal.runs * deal.run;
  const int end = min(begin + deal.run, length);
  const bool works = row < rows && (begin < end || begin == 0);
  const int64_t channel = first + row;
  const Span span{batch_row, batch_row, 0, conv.seqlen};
  const int step = conv.reverse ? -1 : 1;
  T* at = tile + row * length + (conv.reverse ? length - 1 - begin : begin);
  float input[kWidth], tap[kWidth], bias = 0.0f;
  if (works) {
#pragma unroll
    for (int j = 0; j < kWidth - 1; ++j) {
      const int back = kWidth - 1 - j;
      input[j] = begin >= back ? to_float(at[-back * step])
                               : input_at<T>(conv, span, begin - back, channel);
    }
#pragma unroll
    for (int k = 0; k < kWidth; ++k)
      tap[k] = conv.weight[channel * conv.weight_stride[0] + k * conv.weight_stride[1]];
    if (conv.bias != nullptr) bias = conv.bias[channel * conv.bias_stride];
  }
  __syncthreads();
  if (works) {
#pragma unroll 4
    for (int i = begin; i < end; ++i, at += step) {
      input[kWidth - 1] = to_float(*at);
      float sum = bias;
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum = fmaf(tap[k], input[k], sum);
      *at = from_float<T>(conv.silu ? silu(sum) : sum);
#pragma unroll
      for (int k = 0; k + 1 < kWidth; ++k) input[k] = input[k + 1];
    }
    // By the thread that has read initial_state, which may be the same memory.
    if (conv.final != nullptr && begin == 0) {
      for (int j = 0; j < kWidth - 1; ++j)
        conv.final[batch_row * conv.final_stride[0] + j * conv.final_stride[1] +
                   channel * conv.final_stride[2]] =
            input_at<T>(conv, span, length - (kWidth - 1) + j, channel);
    }
  }
  __syncthreads();
  copy_out(tile, conv.y_stride[2], rows, length, deal.y_whole,
           static_cast<T*>(conv.y) + batch_row * conv.y_stride[0] + first * conv.y_stride[2]);
}

Decline why_not(const CausalConv1d::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.layout != Layout::kChannelsFirst) return why::kLayout;
  if (p.width < 2 || p.width > 4) return why::kWidth;
  if (p.seqlen > kLongest) return why::kLong;
  if (p.packed) return why::kPacked;
  return {};
}

// Rows that follow one another without a gap, each block's beginning at 16 bytes.
bool whole(const ConstTensorView& view) {
  return (view.stride[2] == view.shape[1] || view.shape[2] == 1) &&
         reinterpret_cast<uintptr_t>(view.data) % 16 == 0 &&
         (view.shape[0] == 1 || view.stride[0] * size_of(view.dtype) % 16 == 0);
}

template <class T, int kWidth>
Status launch_conv(const Conv& conv, const Deal& deal, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(conv.batch * deal.blocks);
  const auto bytes = static_cast<size_t>(deal.rows * conv.seqlen) * sizeof(T);
  conv_short_rows<T, kWidth><<<blocks, kThreads, bytes, stream>>>(conv, deal);
  return launched(kName);
}

Status run(const CausalConv1d::Args& args, const Launch& launch) {
  const Conv conv = conv_of(args);
  const cudaStream_t stream = stream_of(launch);
  if (conv.batch * conv.dim == 0) return {};
  Deal deal{};
  deal.runs = std::max(static_cast<int>(ceil_div(conv.seqlen, kRun)), 1);
  deal.run = static_cast<int>(ceil_div(conv.seqlen, deal.runs));
  // A multiple of eight rows is a multiple of 16 bytes.
  deal.rows = kThreads / deal.runs / 8 * 8;
  deal.blocks = ceil_div(conv.dim, deal.rows);
  deal.x_whole = whole(args.x), deal.y_whole = whole(args.y);
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    switch (conv.width) {
      case 2:
        return launch_conv<T, 2>(conv, deal, stream);
      case 3:
        return launch_conv<T, 3>(conv, deal, stream);
      default:
        return launch_conv<T, 4>(conv, deal, stream);
    }
  });
}

}  // namespace

namespace causal_conv1d {
extern constinit const Kernel<CausalConv1d> short_rows;
constinit const Kernel<CausalConv1d> short_rows{.name = kName,
                                                .why_not = why_not,
                                                .workspace_bytes = nullptr,
                                                .run = run,
                                                .device = Device::kCuda};
}  // namespace causal_conv1d
}  // namespace hiss::cuda
