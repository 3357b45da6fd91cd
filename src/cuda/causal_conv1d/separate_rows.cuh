// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/filter.cuh"
#include "cuda/tile/divide.cuh"

// Channels-first rows that lie anywhere. A warp has a stretch of one row, so its filter is loaded
// once. Vectors are aligned in memory, not in the row: the first and the last of a row may hold
// elements of its neighbours, which are left alone.
namespace hiss::cuda {

constexpr int kBefore = 4;  // inputs from before (reverse: after) a vector; width <= 4

// Stretches of 32 * kVectors vectors.
struct Stretches {
  Divider by_row;      // stretches of a row
  Divider by_channel;  // rows of a batch row
};

// Tokens [start, start + kCount) of a row, zeros where it has none.
template <class T, int kCount>
__device__ __forceinline__ Raw<T, kCount> load_tokens(const T* row, int64_t start, int64_t length) {
  if (start >= 0 && start + kCount <= length) return Raw<T, kCount>::at(row + start);
  Raw<T, kCount> tokens{};
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    if (start + i >= 0 && start + i < length) tokens.set(i, to_float(row[start + i]));
  return tokens;
}

// What lies beside a lane's vector: the end of the vector before, or the beginning of the one
// after. The lane at the border of 32 vectors takes it from `beyond`, the neighbouring 32.
template <class T, int kVector, bool kReverse>
__device__ __forceinline__ Raw<T, kBefore> beside(const Raw<T, kVector>& own,
                                                  const Raw<T, kVector>& beyond) {
  constexpr int kFrom = kReverse ? 0 : Raw<T, kVector>::kWords - Raw<T, kBefore>::kWords;
  const int lane = threadIdx.x % 32, border = kReverse ? 0 : 31;
  Raw<T, kBefore> result;
#pragma unroll
  for (int i = 0; i < Raw<T, kBefore>::kWords; ++i)
    result.word[i] = __shfl_sync(~0u, lane == border ? beyond.word[kFrom + i] : own.word[kFrom + i],
                                 (lane + (kReverse ? 1 : 31)) % 32);
  return result;
}

template <class T, int kVector, int kVectors, int kWidth, bool kReverse, int kThreads>
__global__ void __launch_bounds__(kThreads)
    conv_separate_rows(const __grid_constant__ Conv conv, const __grid_constant__ Stretches cut) {
  constexpr int kHistory = kWidth - 1;
  const int64_t item = int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  int64_t stretch, channel;
  const int64_t row = cut.by_channel.divide(cut.by_row.divide(item, stretch), channel);
  if (row >= conv.batch) return;
  const T* x = static_cast<const T*>(conv.x) + row * conv.x_stride[0] + channel * conv.x_stride[2];
  T* y = static_cast<T*>(conv.y) + row * conv.y_stride[0] + channel * conv.y_stride[2];
  // Elements between the last aligned address and the row.
  const auto shift = static_cast<int64_t>(reinterpret_cast<uintptr_t>(x) / sizeof(T) % kVector);
  const int64_t start = (stretch * (32 * kVectors) + threadIdx.x % 32) * kVector - shift;
  const int64_t length = conv.seqlen;

  Raw<T, kVector> own[kVectors];
#pragma unroll
  for (int u = 0; u < kVectors; ++u)
    own[u] = load_tokens<T, kVector>(x, start + u * (32 * kVector), length);
  // Beside the whole stretch.
  constexpr int kEdge = kReverse ? kVectors - 1 : 0;
  const bool at_edge = threadIdx.x % 32 == (kReverse ? 31 : 0);
  Raw<T, kBefore> outer{};
  if constexpr (kVector >= kBefore) {
    const int64_t edge = start + kEdge * (32 * kVector);
    if (at_edge)
      outer = load_tokens<T, kBefore>(x, kReverse ? edge + kVector : edge - kBefore, length);
  }
  float tap[kWidth];
  load_taps<kWidth>(conv, channel, tap);
  const float bias = bias_of(conv, channel);

#pragma unroll
  for (int u = 0; u < kVectors; ++u) {
    const int64_t at = start + u * (32 * kVector);
    float input[kBefore + kVector], sum[kVector];  // in the order of consumption
    if constexpr (kVector >= kBefore) {
      Raw<T, kBefore> near = beside<T, kVector, kReverse>(own[u], own[u == kEdge ? u
                                                                      : kReverse ? u + 1
                                                                                 : u - 1]);
      if (u == kEdge && at_edge) near = outer;
#pragma unroll
      for (int j = 0; j < kBefore; ++j) input[j] = near[kReverse ? kBefore - 1 - j : j];
    } else {
#pragma unroll
      for (int j = 0; j < kBefore; ++j)
        input[j] = load_tokens<T, 1>(x, kReverse ? at + kBefore - j : at - kBefore + j, length)[0];
    }
    if (at >= length || at + kVector <= 0) continue;
#pragma unroll
    for (int i = 0; i < kVector; ++i) input[kBefore + i] = own[u][kReverse ? kVector - 1 - i : i];
    // The number of the first in its row; what comes before the row is the state's, or zero.
    const int64_t first = kReverse ? length - kVector - at : at;
    if (first < kHistory) {
#pragma unroll
      for (int i = -kHistory; i < kVector; ++i)
        if (first + i < 0)
          input[kBefore + i] =
              first + i >= -kHistory ? earlier_input(conv, row, first + i, channel) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float value = output_of<false>(tap, bias, input + kBefore + i - kHistory);
      sum[kReverse ? kVector - 1 - i : i] = conv.silu ? silu(value) : value;
    }
    if (at >= 0 && at + kVector <= length) {
      Raw<T, kVector>::of(sum).store(y + at);
    } else {
#pragma unroll
      for (int i = 0; i < kVector; ++i)
        if (at + i >= 0 && at + i < length) y[at + i] = from_float<T>(sum[i]);
    }
  }
}

}  // namespace hiss::cuda
