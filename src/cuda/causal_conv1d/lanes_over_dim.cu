// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-last tensors: a thread has a vector of channels and walks a tile
// of tokens, its last width-1 inputs in registers.
//
// Parallel over (row, tile, vector of channels); a warp has 32 neighbouring vectors of one tile, so
// each access of it is one contiguous piece of a row. The loads of the next tokens are issued
// before this step's arithmetic. Bound by memory: docs/kernels/causal_conv1d_cuda.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order, whatever the tile.

#include <algorithm>

#include "cuda/causal_conv1d/filter.cuh"

namespace hiss::cuda {
namespace {

constexpr std::string_view kName = "causal_conv1d/cuda.sm80.lanes_over_dim";
constexpr int kWarps = 8;

// One thread's channels. kStep: tokens loaded ahead.
template <class T, int kVector, int kWidth, int kStep>
class Walk {
 public:
  __device__ Walk(const Conv& conv, int64_t channel) : conv_(conv), channel_(channel) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      bias_[v] = conv.bias == nullptr ? 0.0f : conv.bias[(channel + v) * conv.bias_stride];
#pragma unroll
      for (int k = 0; k < kWidth; ++k)
        tap_[k][v] = conv.weight[(channel + v) * conv.weight_stride[0] + k * conv.weight_stride[1]];
    }
  }

  // Outputs [first, first + count) of a sequence.
  __device__ void run(const Span& span, int64_t first, int64_t count) {
    const int64_t token = conv_.reverse ? span.end - 1 - first : span.begin + first;
    const int64_t sign = conv_.reverse ? -1 : 1;
    const T* x = static_cast<const T*>(conv_.x) + span.row * conv_.x_stride[0] +
                 token * conv_.x_stride[1] + channel_;
    T* y = static_cast<T*>(conv_.y) + span.row * conv_.y_stride[0] + token * conv_.y_stride[1] +
           channel_;
    const int64_t x_step = sign * conv_.x_stride[1], y_step = sign * conv_.y_stride[1];

    float input[kWidth - 1 + kStep][kVector];
#pragma unroll
    for (int j = 0; j < kWidth - 1; ++j) history(span, first - (kWidth - 1) + j, input[j]);
    Pack<T, kVector> ahead[kStep];
    fetch(x, x_step, count, ahead);
    for (int64_t i = 0; i < count; i += kStep) {
#pragma unroll
      for (int j = 0; j < kStep; ++j) unpack(ahead[j], input[kWidth - 1 + j]);
      fetch(x + (i + kStep) * x_step, x_step, count - i - kStep, ahead);
#pragma unroll
      for (int j = 0; j < kStep; ++j) {
        if (i + j >= count) break;
        float sum[kVector];
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          sum[v] = bias_[v];
#pragma unroll
          for (int k = 0; k < kWidth; ++k) sum[v] = fmaf(tap_[k][v], input[j + k][v], sum[v]);
          if (conv_.silu) sum[v] = silu(sum[v]);
        }
        store_pack(sum, y + (i + j) * y_step);
      }
#pragma unroll
      for (int j = 0; j < kWidth - 1; ++j)
#pragma unroll
        for (int v = 0; v < kVector; ++v) input[j][v] = input[kStep + j][v];
    }
  }

 private:
  __device__ static void fetch(const T* x, int64_t step, int64_t left,
                               Pack<T, kVector> (&to)[kStep]) {
#pragma unroll
    for (int j = 0; j < kStep; ++j)
      if (j < left) to[j] = *reinterpret_cast<const Pack<T, kVector>*>(x + j * step);
  }
  __device__ static void unpack(const Pack<T, kVector>& from, float (&to)[kVector]) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) to[v] = to_float(from.element[v]);
  }
  __device__ void history(const Span& span, int64_t i, float (&to)[kVector]) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) to[v] = input_at<T>(conv_, span, i, channel_ + v);
  }

  const Conv& conv_;
  const int64_t channel_;
  float tap_[kWidth][kVector], bias_[kVector];
};

// final_state of a whole row by the thread that has read its initial_state, which may be its
// memory.
template <class T, int kVector, int kWidth>
__device__ void store_final(const Conv& conv, const Span& span, int64_t channel) {
  for (int j = 0; j < kWidth - 1; ++j)
    for (int v = 0; v < kVector; ++v)
      conv.final[span.s * conv.final_stride[0] + j * conv.final_stride[1] +
                 (channel + v) * conv.final_stride[2]] =
          input_at<T>(conv, span, span.end - span.begin - (kWidth - 1) + j, channel + v);
}

template <class T, int kVector, int kWidth, int kStep, int kBlocks>
__global__ void __launch_bounds__(32 * kWarps, kBlocks)
    conv_lanes_over_dim(const __grid_constant__ Conv conv, const int64_t tile,
                        const int64_t tiles) {
  const int64_t vectors = conv.dim / kVector, columns = ceil_div(vectors, 32);
  const int64_t vector = blockIdx.x % columns * 32 + threadIdx.x;
  const int64_t item = int64_t{blockIdx.x / static_cast<unsigned>(columns)} * kWarps + threadIdx.y;
  if (vector >= vectors || item >= conv.batch * tiles) return;
  const int64_t channel = vector * kVector, row = item / tiles;
  int64_t place = item % tiles * tile;  // in the order of consumption
  const int64_t end = min(place + tile, conv.seqlen);
  Walk<T, kVector, kWidth, kStep> walk(conv, channel);
  while (place < end) {
    const Span span = conv.sequences.with(row, conv.reverse ? conv.seqlen - 1 - place : place);
    const int64_t first = conv.reverse ? place - (conv.seqlen - span.end) : place - span.begin;
    const int64_t count = min(end - place, span.end - span.begin - first);
    walk.run(span, first, count);
    place += count;
  }
  if (conv.final != nullptr && item % tiles == 0 && conv.sequences.cu_seqlens == nullptr)
    store_final<T, kVector, kWidth>(conv, conv.sequences.at(row), channel);
}

Decline why_not(const CausalConv1d::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.layout != Layout::kChannelsLast) return why::kLayout;
  if (p.width < 2 || p.width > 4) return why::kWidth;
  return {};
}

template <class T, int kVector, int kWidth, int kStep = 4, int kBlocks = 1>
Status launch_conv(const Conv& conv, cudaStream_t stream) {
  const int64_t vectors = conv.dim / kVector;
  // Long enough to forget the reading of history, short enough to fill the device.
  constexpr int64_t kWanted = 132 * 2048;
  int64_t tile = 64;
  while (tile > 8 && conv.batch * ceil_div(conv.seqlen, tile) * vectors < kWanted) tile /= 2;
  // A row without tokens still has a state to hand on.
  const int64_t tiles = std::max<int64_t>(ceil_div(conv.seqlen, tile), 1);
  tile = ceil_div(conv.seqlen, tiles);
  const int64_t blocks = ceil_div(conv.batch * tiles, kWarps) * ceil_div(vectors, 32);
  if (blocks == 0) return {};
  conv_lanes_over_dim<T, kVector, kWidth, kStep, kBlocks>
      <<<static_cast<unsigned>(blocks), dim3(32, kWarps), 0, stream>>>(conv, tile, tiles);
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

Status run(const CausalConv1d::Args& args, const Launch& launch) {
  const Conv conv = conv_of(args);
  const cudaStream_t stream = stream_of(launch);
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    const bool wide =
        conv.dim % kWidest<T> == 0 && aligned_rows(args.x, 2, 16) && aligned_rows(args.y, 2, 16);
    HISS_RETURN_IF_ERROR(
        (wide ? launch_width<T, kWidest<T>>(conv, stream) : launch_width<T, 1>(conv, stream)));
    return args.cu_seqlens.present() ? launch_final_state<T>(kName, conv, stream) : Status();
  });
}

}  // namespace

namespace causal_conv1d {
extern constinit const Kernel<CausalConv1d> lanes_over_dim;
constinit const Kernel<CausalConv1d> lanes_over_dim{.name = kName,
                                                    .why_not = why_not,
                                                    .workspace_bytes = nullptr,
                                                    .run = run,
                                                    .device = Device::kCuda};
}  // namespace causal_conv1d
}  // namespace hiss::cuda
