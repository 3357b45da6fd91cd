// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-first tensors with long rows, one vector of tokens a lane.
//
// Rows that follow one another in memory are taken as one long piece and cut into aligned vectors,
// so 16 bytes are moved at a time whatever the length of a row. A vector inside a row needs the
// width-1 inputs before it, a second load that hits L1; one across the end of a row switches filter
// in the middle. Bound by memory: docs/kernels/causal_conv1d_cuda.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order.

#include "cuda/causal_conv1d/filter.cuh"
#include "cuda/tile/divide.cuh"

namespace hiss::cuda {
namespace {

constexpr std::string_view kName = "causal_conv1d/cuda.sm80.lanes_over_time";
constexpr int kThreads = 256;
constexpr int kVectors = 4;  // of a thread
constexpr int kBefore = 4;   // inputs loaded from before (reverse: after) a vector; width <= 4

// Pieces of memory without a gap, of `rows` rows each: all there are, those of a batch row, or one.
struct Pieces {
  int64_t count, rows;
  Divider by_piece;  // vectors of a piece
  Divider by_row;    // tokens of a row
  Divider by_batch;  // channels of a batch row
};

template <int kWidth>
struct Filter {
  float tap[kWidth], bias;
  __device__ void load(const Conv& conv, int64_t channel) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k)
      tap[k] = conv.weight[channel * conv.weight_stride[0] + k * conv.weight_stride[1]];
    bias = conv.bias == nullptr ? 0.0f : conv.bias[channel * conv.bias_stride];
  }
};

// Input i < 0 of a row of all rows.
__device__ __forceinline__ float before_row(const Conv& conv, const Pieces& pieces, int64_t row,
                                            int i) {
  if (conv.initial == nullptr) return 0.0f;
  int64_t channel;
  const int64_t s = pieces.by_batch.divide(row, channel);
  return conv.initial[s * conv.initial_stride[0] + (conv.width - 1 + i) * conv.initial_stride[1] +
                      channel * conv.initial_stride[2]];
}

// A vector of one piece in the order of consumption: input[kBefore + i] is the i-th.
template <class T, int kVector, bool kReverse>
__device__ __forceinline__ void load_inputs(const T* x, int64_t at, int64_t size,
                                            float (&input)[kBefore + kVector]) {
  float own[kVector], near[kBefore] = {};
  load_pack<kVector>(x + at, own);
  const int64_t beside = kReverse ? at + kVector : at - kBefore;
  if constexpr (kVector >= kBefore) {
    if (kReverse ? beside < size : beside >= 0) load_pack<kBefore>(x + beside, near);
  } else {
#pragma unroll
    for (int j = 0; j < kBefore; ++j)
      if (beside + j >= 0 && beside + j < size) near[j] = to_float(x[beside + j]);
  }
#pragma unroll
  for (int j = 0; j < kBefore; ++j) input[j] = near[kReverse ? kBefore - 1 - j : j];
#pragma unroll
  for (int i = 0; i < kVector; ++i) input[kBefore + i] = own[kReverse ? kVector - 1 - i : i];
}

template <class T, int kVector, int kWidth, bool kReverse>
__device__ __forceinline__ void conv_vector(const Conv& conv, const Pieces& pieces, int64_t row,
                                            int64_t i0, float (&input)[kBefore + kVector],
                                            float (&output)[kVector]) {
  const int64_t length = conv.seqlen, left = length - i0;  // outputs of this row
  int64_t channel;
  pieces.by_batch.divide(row, channel);
  Filter<kWidth> filter;
  filter.load(conv, channel);
  const bool inside = i0 >= kWidth - 1 && left >= kVector;
  if (__all_sync(__activemask(), inside)) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      float sum = filter.bias;
#pragma unroll
      for (int k = 0; k < kWidth; ++k)
        sum = fmaf(filter.tap[k], input[kBefore + i - (kWidth - 1) + k], sum);
      output[kReverse ? kVector - 1 - i : i] = conv.silu ? silu(sum) : sum;
    }
    return;
  }
  // Rows are at least as long as a vector: one end at most.
  const int switch_at = left < kVector ? static_cast<int>(left) : kVector;
  const int64_t next = kReverse ? row - 1 : row + 1;
#pragma unroll
  for (int j = 1; j < kWidth; ++j)
    if (i0 < j) input[kBefore - j] = before_row(conv, pieces, row, static_cast<int>(i0) - j);
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if (i == switch_at) {
      pieces.by_batch.divide(next, channel);
      filter.load(conv, channel);
    }
    float sum = filter.bias;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const int back = kWidth - 1 - k;
      float v = input[kBefore + i - back];
      if (i >= switch_at && i - back < switch_at)
        v = before_row(conv, pieces, next, i - back - switch_at);
      sum = fmaf(filter.tap[k], v, sum);
    }
    output[kReverse ? kVector - 1 - i : i] = conv.silu ? silu(sum) : sum;
  }
}

template <class T, int kVector, int kWidth, bool kReverse>
__global__ void __launch_bounds__(kThreads)
    conv_lanes_over_time(const __grid_constant__ Conv conv, const __grid_constant__ Pieces pieces) {
  const int64_t per_piece = pieces.by_piece.divisor();
  const int64_t items = pieces.count * per_piece, size = per_piece * kVector;
  const int64_t begin = int64_t{blockIdx.x} * (kThreads * kVectors) + threadIdx.x;
  float input[kVectors][kBefore + kVector];
  int64_t row[kVectors], vector[kVectors];  // first row of the piece
  T* y[kVectors];
#pragma unroll
  for (int u = 0; u < kVectors; ++u) {
    const int64_t item = begin + u * kThreads;
    if (item >= items) break;
    row[u] = pieces.by_piece.divide(item, vector[u]) * pieces.rows;
    int64_t channel;
    const int64_t s = pieces.by_batch.divide(row[u], channel);
    const T* x = static_cast<const T*>(conv.x) + s * conv.x_stride[0] + channel * conv.x_stride[2];
    y[u] = static_cast<T*>(conv.y) + s * conv.y_stride[0] + channel * conv.y_stride[2];
    load_inputs<T, kVector, kReverse>(x, vector[u] * kVector, size, input[u]);
  }
#pragma unroll
  for (int u = 0; u < kVectors; ++u) {
    if (begin + u * kThreads >= items) break;
    const int64_t first = vector[u] * kVector + (kReverse ? kVector - 1 : 0);
    int64_t token;
    row[u] += pieces.by_row.divide(first, token);
    float output[kVector];
    conv_vector<T, kVector, kWidth, kReverse>(
        conv, pieces, row[u], kReverse ? conv.seqlen - 1 - token : token, input[u], output);
    store_pack(output, y[u] + vector[u] * kVector);
  }
}

Decline why_not(const CausalConv1d::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.layout != Layout::kChannelsFirst) return why::kLayout;
  if (p.width < 2 || p.width > 4) return why::kWidth;
  if (p.seqlen < 8) return why::kShort;
  if (p.packed) return why::kPacked;
  return {};
}

template <class T, int kVector, int kWidth>
Status launch_conv(const Conv& conv, const Pieces& pieces, cudaStream_t stream) {
  const int64_t items = pieces.count * pieces.by_piece.divisor();
  const auto function = conv.reverse ? conv_lanes_over_time<T, kVector, kWidth, true>
                                     : conv_lanes_over_time<T, kVector, kWidth, false>;
  function<<<static_cast<unsigned>(ceil_div(items, kThreads * kVectors)), kThreads, 0, stream>>>(
      conv, pieces);
  return launched(kName);
}

template <class T, int kVector>
Status launch_width(const Conv& conv, const Pieces& pieces, cudaStream_t stream) {
  switch (conv.width) {
    case 2:
      return launch_conv<T, kVector, 2>(conv, pieces, stream);
    case 3:
      return launch_conv<T, kVector, 3>(conv, pieces, stream);
    default:
      return launch_conv<T, kVector, 4>(conv, pieces, stream);
  }
}

// Rows of the longest pieces without a gap in x or y.
int64_t rows_of_a_piece(const ConstTensorView& x, const ConstTensorView& y) {
  const int64_t batch = x.shape[0], length = x.shape[1], dim = x.shape[2];
  const auto both = [&](int axis, int64_t stride) {
    return x.shape[axis] == 1 || (x.stride[axis] == stride && y.stride[axis] == stride);
  };
  if (!both(2, length)) return 1;
  return both(0, dim * length) ? batch * dim : dim;
}

Status run(const CausalConv1d::Args& args, const Launch& launch) {
  const Conv conv = conv_of(args);
  const cudaStream_t stream = stream_of(launch);
  if (conv.batch * conv.dim == 0) return {};
  const int64_t rows = rows_of_a_piece(args.x, args.y), size = rows * conv.seqlen;
  // Whether every piece begins at 16 bytes.
  const auto aligned = [&](const ConstTensorView& view) {
    const auto fits = [&](int axis) {
      return view.shape[axis] == 1 || view.stride[axis] * size_of(view.dtype) % 16 == 0;
    };
    return reinterpret_cast<uintptr_t>(view.data) % 16 == 0 && (rows > conv.dim || fits(0)) &&
           (rows > 1 || fits(2));
  };
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    const bool wide = size % kWidest<T> == 0 && aligned(args.x) && aligned(args.y);
    const Pieces pieces{conv.batch * conv.dim / rows, rows,
                        Divider(wide ? size / kWidest<T> : size), Divider(conv.seqlen),
                        Divider(conv.dim)};
    HISS_RETURN_IF_ERROR((wide ? launch_width<T, kWidest<T>>(conv, pieces, stream)
                               : launch_width<T, 1>(conv, pieces, stream)));
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
