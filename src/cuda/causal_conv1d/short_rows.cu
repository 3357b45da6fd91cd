// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-first tensors with short rows: many rows in shared memory at once.
//
// A block copies whole rows, as one piece of memory where they lie so, to shared memory; each
// thread convolves a run of up to 32 tokens of one row in place, and the rows are copied out. So
// memory is moved 16 bytes at a time whatever the length of a row, and an element costs no
// division. Threads of a warp work on different rows, whose distance keeps them apart in the banks.
// Bound by memory: docs/kernels/causal_conv1d_cuda.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order.

#include <algorithm>

#include "cuda/causal_conv1d/filter.cuh"
#include "cuda/tile/async_copy.cuh"

namespace hiss::cuda {
namespace {

constexpr std::string_view kName = "causal_conv1d/cuda.sm80.short_rows";
constexpr int kThreads = 256;
constexpr int kRun = 32;                 // tokens of a thread at most
constexpr int64_t kLongest = 16 * kRun;  // tokens of a row

// How rows are dealt to blocks: `rows` of them each, out of pieces of `piece` rows that lie evenly,
// all there are or those of a batch row.
struct Deal {
  int rows, runs, run;    // a block's rows; a row's runs and their length
  int pitch;              // from one row to the next in shared memory
  int64_t piece, blocks;  // rows of a piece, and its blocks
  uint32_t by_packs;      // 2^32 / packs of a row, rounded up
  bool x_whole, y_whole;  // a block's rows are one aligned piece of memory
};

// Calls f(i, j): i counts packs of the block's piece of memory, j is their place in the tile.
template <int kPack>
__device__ __forceinline__ void for_each_pack(const Deal& deal, int rows, int length, auto&& f) {
  const int packs = rows * length / kPack, gap = (deal.pitch - length) / kPack;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += kThreads)
    f(i, gap == 0 ? i : i + gap * static_cast<int>(__umulhi(i, deal.by_packs)));
}

template <class T>
__device__ void copy_in(const T* from, int64_t row_stride, const Deal& deal, int rows, int length,
                        T* tile) {
  using Vector = Pack<T, kWidest<T>>;
  if (deal.x_whole) {
    const auto* packs = reinterpret_cast<const Vector*>(from);
    for_each_pack<kWidest<T>>(deal, rows, length, [&](int i, int j) {
      copy_async<16>(packs + i, reinterpret_cast<Vector*>(tile) + j);
    });
    // Only a block with the last rows has a rest, and only rows without a gap.
    const int whole = rows * length / kWidest<T> * kWidest<T>;
    for (int i = whole + threadIdx.x; i < rows * length; i += kThreads) tile[i] = from[i];
    return;
  }
  for (int row = threadIdx.x / 32; row < rows; row += kThreads / 32)
    for (int t = threadIdx.x % 32; t < length; t += 32)
      tile[row * deal.pitch + t] = from[row * row_stride + t];
}

template <class T>
__device__ void copy_out(const T* tile, int64_t row_stride, const Deal& deal, int rows, int length,
                         T* to) {
  using Vector = Pack<T, kWidest<T>>;
  if (deal.y_whole) {
    auto* packs = reinterpret_cast<Vector*>(to);
    for_each_pack<kWidest<T>>(deal, rows, length, [&](int i, int j) {
      packs[i] = reinterpret_cast<const Vector*>(tile)[j];
    });
    const int whole = rows * length / kWidest<T> * kWidest<T>;
    for (int i = whole + threadIdx.x; i < rows * length; i += kThreads) to[i] = tile[i];
    return;
  }
  for (int row = threadIdx.x / 32; row < rows; row += kThreads / 32)
    for (int t = threadIdx.x % 32; t < length; t += 32)
      to[row * row_stride + t] = tile[row * deal.pitch + t];
}

// `count` tokens in place, kVector at a time; `at` is the first in the order of consumption, input
// has the kWidth - 1 before it.
template <class T, int kWidth, int kVector, bool kReverse, bool kSilu>
__device__ void conv_run(const float (&tap)[kWidth], float bias, float (&history)[kWidth - 1],
                         T* at, int count) {
#pragma unroll(kVector == 1 ? 4 : 1)
  for (; count > 0; count -= kVector, at += kReverse ? -kVector : kVector) {
    T* first = at - (kReverse ? kVector - 1 : 0);
    float own[kVector], input[kWidth - 1 + kVector];
    load_pack<kVector>(first, own);
#pragma unroll
    for (int j = 0; j < kWidth - 1; ++j) input[j] = history[j];
#pragma unroll
    for (int i = 0; i < kVector; ++i) input[kWidth - 1 + i] = own[kReverse ? kVector - 1 - i : i];
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      own[kReverse ? kVector - 1 - i : i] = output_of<kSilu>(tap, bias, input + i);
    store_pack(own, first);
#pragma unroll
    for (int j = 0; j < kWidth - 1; ++j) history[j] = input[kVector + j];
  }
}

// kVector: 1, or whole packs where a row consists of them.
template <class T, int kWidth, int kVector, bool kReverse>
__global__ void __launch_bounds__(kThreads)
    conv_short_rows(const __grid_constant__ Conv conv, const __grid_constant__ Deal deal) {
  extern __shared__ __align__(16) unsigned char shared[];
  T* tile = reinterpret_cast<T*>(shared);
  // Among all rows of the batch.
  const int64_t first = blockIdx.x % deal.blocks * deal.rows;
  const int64_t first_row = blockIdx.x / deal.blocks * deal.piece + first;
  const int rows = static_cast<int>(min(int64_t{deal.rows}, deal.piece - first));
  const int length = static_cast<int>(conv.seqlen);
  const int64_t batch_row = first_row / conv.dim, channel_of_first = first_row % conv.dim;
  copy_in(static_cast<const T*>(conv.x) + batch_row * conv.x_stride[0] +
              channel_of_first * conv.x_stride[2],
          conv.x_stride[2], deal, rows, length, tile);

  const int row = static_cast<int>(threadIdx.x) % deal.rows;
  const int begin = static_cast<int>(threadIdx.x) / deal.rows * deal.run;
  const int count = min(deal.run, length - begin);
  const bool works = row < rows && (count > 0 || begin == 0);
  const int64_t channel = (first_row + row) % conv.dim, s = (first_row + row) / conv.dim;
  float history[kWidth - 1], tap[kWidth], bias = 0.0f;
  if (works) {
    load_taps<kWidth>(conv, channel, tap);
    bias = bias_of(conv, channel);
  }
  commit_copies();
  wait_copies<0>();
  __syncthreads();

  // Before any output takes the place of an input that a neighbour needs.
  T* at = tile + row * deal.pitch + (kReverse ? length - 1 - begin : begin);
  if (works) {
#pragma unroll
    for (int j = 0; j < kWidth - 1; ++j) {
      const int back = kWidth - 1 - j;
      history[j] = begin >= back ? to_float(at[kReverse ? back : -back])
                                 : earlier_input(conv, s, begin - back, channel);
    }
  }
  __syncthreads();
  if (works) {
    if (conv.silu)
      conv_run<T, kWidth, kVector, kReverse, true>(tap, bias, history, at, count);
    else
      conv_run<T, kWidth, kVector, kReverse, false>(tap, bias, history, at, count);
    // By the thread that has read initial_state, which may be the same memory.
    if (conv.final != nullptr && begin == 0) {
      const Span span{s, s, 0, conv.seqlen};
      for (int j = 0; j < kWidth - 1; ++j)
        conv.final[s * conv.final_stride[0] + j * conv.final_stride[1] +
                   channel * conv.final_stride[2]] =
            input_at<T>(conv, span, length - (kWidth - 1) + j, channel);
    }
  }
  __syncthreads();
  copy_out(
      tile, conv.y_stride[2], deal, rows, length,
      static_cast<T*>(conv.y) + batch_row * conv.y_stride[0] + channel_of_first * conv.y_stride[2]);
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

Deal deal_of(const CausalConv1d::Args& args, int64_t length) {
  Deal deal{};
  const int pack = 16 / static_cast<int>(size_of(args.x.dtype));
  const auto tokens = static_cast<int>(length);
  // Rows of whole packs: runs of them, an odd number of packs apart.
  const int unit = tokens % pack == 0 ? pack : 1;
  deal.runs = std::max(static_cast<int>(ceil_div(tokens, kRun)), 1);
  deal.run = static_cast<int>(ceil_div(tokens, int64_t{deal.runs} * unit)) * unit;
  deal.pitch = unit == pack && tokens / pack % 2 == 0 ? tokens + pack : tokens;
  if (tokens >= pack)
    deal.by_packs = static_cast<uint32_t>(((uint64_t{1} << 32) + tokens / pack - 1) /
                                          static_cast<uint64_t>(tokens / pack));
  // A multiple of eight rows is a multiple of 16 bytes.
  deal.rows = kThreads / deal.runs / 8 * 8;
  // Rows of all batch rows at one distance from one another.
  const auto even = [&](const ConstTensorView& view) {
    return view.shape[0] == 1 || view.stride[0] == view.shape[2] * view.stride[2];
  };
  const bool all = even(args.x) && even(args.y);
  deal.piece = args.x.shape[2] * (all ? args.x.shape[0] : 1);
  deal.blocks = ceil_div(deal.piece, deal.rows);
  deal.x_whole = whole(args.x), deal.y_whole = whole(args.y);
  return deal;
}

template <class T, int kWidth, int kVector>
Status launch_conv(const Conv& conv, const Deal& deal, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(conv.batch * conv.dim / deal.piece * deal.blocks);
  const auto bytes = static_cast<size_t>(deal.rows * deal.pitch) * sizeof(T);
  const auto function = conv.reverse ? conv_short_rows<T, kWidth, kVector, true>
                                     : conv_short_rows<T, kWidth, kVector, false>;
  function<<<blocks, kThreads, bytes, stream>>>(conv, deal);
  return launched(kName);
}

template <class T, int kVector>
Status launch_width(const Conv& conv, const Deal& deal, cudaStream_t stream) {
  switch (conv.width) {
    case 2:
      return launch_conv<T, 2, kVector>(conv, deal, stream);
    case 3:
      return launch_conv<T, 3, kVector>(conv, deal, stream);
    default:
      return launch_conv<T, 4, kVector>(conv, deal, stream);
  }
}

Status run(const CausalConv1d::Args& args, const Launch& launch) {
  const Conv conv = conv_of(args);
  const cudaStream_t stream = stream_of(launch);
  if (conv.batch * conv.dim == 0) return {};
  const Deal deal = deal_of(args, conv.seqlen);
  return with_element(args.x.dtype, [&]<class T>() {
    return conv.seqlen > 0 && conv.seqlen % kWidest<T> == 0
               ? launch_width<T, kWidest<T>>(conv, deal, stream)
               : launch_width<T, 1>(conv, deal, stream);
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
