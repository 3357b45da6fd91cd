// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/launch.h"
#include "cuda/tile/element.cuh"
#include "cuda/tile/math.cuh"
#include "cuda/tile/overlap.cuh"
#include "cuda/tile/sequences.cuh"
#include "hiss/ops/causal_conv1d.h"

// What the convolution's kernels share. Tokens are numbered in the order in which they are
// consumed; input -1 is the newest row of initial_state.
namespace hiss::cuda {

// The sequences of a call. The rows of a batch may be joined to one row of sequences, all of
// `period` tokens.
struct ConvSequences : Sequences {
  int64_t period;

  __host__ __device__ bool in_rows() const { return cu_seqlens == nullptr && period == 0; }
  __device__ Span at(int64_t s) const {
    return period > 0 ? Span{0, s, s * period, (s + 1) * period} : Sequences::at(s);
  }
};

struct Conv {
  const void* x;
  void* y;
  const float *weight, *bias, *initial;
  float* final;
  int64_t batch, seqlen, dim, width;
  int64_t x_stride[3], y_stride[3], weight_stride[2], bias_stride, initial_stride[3],
      final_stride[3];
  ConvSequences sequences;
  bool reverse, silu;
  bool in_place;      // final is the memory of initial
  bool dense_states;  // initial and final may be accessed by aligned vectors of four channels
  bool packed_taps;   // a channel's four taps are one aligned vector
  bool packed_bias;   // there is one, and that of four channels is an aligned vector
};

inline Conv conv_of(const CausalConv1d::Args& a) {
  Conv c{};
  c.x = a.x.data, c.y = a.y.data;
  c.weight = a.weight.as<float>(), c.bias = a.bias.as<float>();
  c.initial = a.initial_state.as<float>(), c.final = a.final_state.as<float>();
  c.batch = a.x.shape[0], c.seqlen = a.x.shape[1], c.dim = a.x.shape[2];
  c.width = a.weight.shape[1];
  for (int i = 0; i < 3; ++i) {
    c.x_stride[i] = a.x.stride[i], c.y_stride[i] = a.y.stride[i];
    c.initial_stride[i] = a.initial_state.stride[i], c.final_stride[i] = a.final_state.stride[i];
  }
  c.weight_stride[0] = a.weight.stride[0], c.weight_stride[1] = a.weight.stride[1];
  c.bias_stride = a.bias.stride[0];
  c.sequences = {Sequences::of(a.cu_seqlens, c.batch, c.seqlen), 0};
  c.reverse = a.direction == Direction::kReverse, c.silu = a.activation == Activation::kSilu;
  c.in_place = c.final != nullptr && c.final == c.initial;
  const auto dense = [](const ConstTensorView& states) {
    return !states.present() || (states.stride[2] == 1 && aligned_rows(states, 2, 16));
  };
  c.dense_states = dense(a.initial_state) && dense(a.final_state);
  c.packed_taps = c.width == 4 && c.weight_stride[0] == 4 && c.weight_stride[1] == 1 &&
                  reinterpret_cast<uintptr_t>(c.weight) % 16 == 0;
  c.packed_bias =
      c.bias != nullptr && c.bias_stride == 1 && reinterpret_cast<uintptr_t>(c.bias) % 16 == 0;
  return c;
}

template <int kWidth>
__device__ __forceinline__ void load_taps(const Conv& conv, int64_t channel, float (&tap)[kWidth]) {
  const float* weight = conv.weight + channel * conv.weight_stride[0];
  if constexpr (kWidth == 4) {
    if (conv.packed_taps) return load_pack<4>(weight, tap);
  }
#pragma unroll
  for (int k = 0; k < kWidth; ++k) tap[k] = weight[k * conv.weight_stride[1]];
}
__device__ __forceinline__ float bias_of(const Conv& conv, int64_t channel) {
  return conv.bias == nullptr ? 0.0f : conv.bias[channel * conv.bias_stride];
}

// Input i < 0 of a sequence: before its first token.
__device__ __forceinline__ float earlier_input(const Conv& conv, int64_t s, int64_t i,
                                               int64_t channel) {
  if (conv.initial == nullptr) return 0.0f;
  return conv.initial[s * conv.initial_stride[0] + (conv.width - 1 + i) * conv.initial_stride[1] +
                      channel * conv.initial_stride[2]];
}

// bias + tap[0] input[0] + tap[1] input[1] + ..., activated.
template <bool kSilu, int kWidth>
__device__ __forceinline__ float output_of(const float (&tap)[kWidth], float bias,
                                           const float* input) {
  float sum = bias;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) sum = fmaf(tap[k], input[k], sum);
  return kSilu ? silu(sum) : sum;
}

// Input i of a sequence, before its first token for negative i.
template <class T>
__device__ float input_at(const Conv& conv, const Span& span, int64_t i, int64_t channel) {
  if (i < 0) return earlier_input(conv, span.s, i, channel);
  const int64_t token = conv.reverse ? span.end - 1 - i : span.begin + i;
  return to_float(static_cast<const T*>(
      conv.x)[span.row * conv.x_stride[0] + token * conv.x_stride[1] + channel * conv.x_stride[2]]);
}

// Whether tiles of so many tokens have written the final state of a sequence: its last tile
// has, unless it lies where other tiles read the initial one.
__device__ inline bool tiles_wrote_final(const Conv& conv, const Span& span, int64_t tile) {
  if (span.begin == span.end) return false;
  if (!conv.in_place) return true;
  const auto tile_of = [&](int64_t token) {
    return (conv.reverse ? conv.seqlen - 1 - token : token) / tile;
  };
  return tile_of(span.begin) == tile_of(span.end - 1);
}

constexpr int64_t kNoTiles = -1;

// final_state, a launch of its own: every read of initial_state is over, which may be its memory.
// Row j comes from row j or a later one. A block has blockDim.x channels of `group` sequences.
template <class T>
__global__ void store_final_state(const __grid_constant__ Conv conv, int64_t group, int64_t tile) {
  wait_for_kernels_before();
  let_next_kernel_start();
  const auto pieces = static_cast<unsigned>(ceil_div(conv.dim, blockDim.x));
  const int64_t channel = int64_t{blockIdx.x % pieces} * blockDim.x + threadIdx.x;
  const int64_t first = blockIdx.x / pieces * group, history = conv.width - 1;
  const int64_t last = min(first + group, conv.sequences.nseq);
  for (int64_t s0 = first; s0 < last; s0 += 32) {
    const int64_t its = s0 + threadIdx.x % 32;
    const bool left =
        its < last && (tile == kNoTiles || !tiles_wrote_final(conv, conv.sequences.at(its), tile));
    for (unsigned todo = __ballot_sync(~0u, left); todo != 0; todo &= todo - 1) {
      if (channel >= conv.dim) continue;
      const Span span = conv.sequences.at(s0 + __ffs(static_cast<int>(todo)) - 1);
      float* to = conv.final + span.s * conv.final_stride[0] + channel * conv.final_stride[2];
      for (int64_t j = 0; j < history; ++j)
        to[j * conv.final_stride[1]] =
            input_at<T>(conv, span, span.end - span.begin - history + j, channel);
    }
  }
}

// Of those sequences whose final state tiles of a launch before have not written, if any did.
template <class T>
Status launch_final_state(std::string_view kernel, const Conv& conv, cudaStream_t stream,
                          int64_t tile = kNoTiles) {
  constexpr int64_t kThreads = 256, kEnough = 2048;  // blocks
  const int64_t pieces = ceil_div(conv.dim, kThreads), nseq = conv.sequences.nseq;
  if (conv.final == nullptr || nseq * pieces == 0 || conv.width == 1) return {};
  const int64_t group = ceil_div(nseq * pieces, kEnough);
  start_overlapped(store_final_state<T>, static_cast<unsigned>(ceil_div(nseq, group) * pieces),
                   kThreads, 0, stream, conv, group, tile);
  return launched(kernel);
}

}  // namespace hiss::cuda
