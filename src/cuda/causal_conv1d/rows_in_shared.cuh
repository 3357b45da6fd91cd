// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/filter.cuh"
#include "cuda/tile/async_copy.cuh"
#include "cuda/tile/divide.cuh"
#include "cuda/tile/small_divide.cuh"

// Channels-first rows that follow one another without a gap and of which most vectors would have
// two: a block has a few whole rows in shared memory, a thread a part of one, which it filters
// where it lies. Rows and tokens count in the order of consumption.
namespace hiss::cuda {

struct RowParts {
  int64_t rows;       // of a piece of memory
  int rows_of_block;  // of whole vectors together
  int tokens_of_part;
  SmallDivider parts;  // of a row
  Divider channels;
  SmallDivider channels_near;
};

template <class T, int kWidth, bool kReverse, bool kSilu, int kThreads>
__global__ void __launch_bounds__(kThreads)
    conv_rows_in_shared(const __grid_constant__ Conv conv, const __grid_constant__ RowParts cut) {
  constexpr int kVector = kWidest<T>, kHistory = kWidth - 1, kStep = 4;
  using Vector = Raw<T, kVector>;
  extern __shared__ __align__(16) unsigned char shared[];
  T* memory = reinterpret_cast<T*>(shared);
  wait_for_kernels_before();
  let_next_kernel_start();
  const int64_t piece = blockIdx.y, first = int64_t{blockIdx.x} * cut.rows_of_block;
  const int rows = static_cast<int>(min(cut.rows - first, int64_t{cut.rows_of_block}));
  const int length = static_cast<int>(conv.seqlen), vectors = rows * length / kVector;
  const T* x = static_cast<const T*>(conv.x) + piece * conv.x_stride[0] + first * length;
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads)
    copy_async<16>(x + i * kVector, memory + i * kVector);
  commit_copies();

  uint32_t part;
  const int row = static_cast<int>(cut.parts.divide(threadIdx.x, part));
  const int begin = static_cast<int>(part) * cut.tokens_of_part;
  const int count = row < rows ? min(cut.tokens_of_part, length - begin) : 0;
  int64_t first_channel;
  int64_t batch_row = piece + cut.channels.divide(first, first_channel);
  uint32_t channel;
  batch_row += cut.channels_near.divide(
      static_cast<uint32_t>(first_channel) + static_cast<uint32_t>(min(row, rows - 1)), channel);
  float tap[kWidth];
  load_taps<kWidth>(conv, channel, tap);
  const float bias = bias_of(conv, channel);
  float input[kHistory + kStep] = {};
#pragma unroll
  for (int j = 0; j < kHistory; ++j)
    if (part == 0) input[j] = earlier_input(conv, batch_row, j - kHistory, channel);
  wait_copies<0>();
  __syncthreads();

  T* at = memory + row * length + (kReverse ? length - 1 - begin : begin);
  constexpr int kNext = kReverse ? -1 : 1;
#pragma unroll
  for (int j = 0; j < kHistory; ++j)
    if (part > 0 && count > 0) input[j] = to_float(at[kNext * (j - kHistory)]);
  __syncthreads();  // The thread of the part before overwrites what was read.
  // The outputs of up to kStep tokens; those past the part are left alone.
  const auto step = [&](int left) {
    float output[kStep];
#pragma unroll
    for (int j = 0; j < kStep; ++j)
      if (j < left) input[kHistory + j] = to_float(at[kNext * j]);
#pragma unroll
    for (int j = 0; j < kStep; ++j) output[j] = output_of<kSilu>(tap, bias, input + j);
#pragma unroll
    for (int j = 0; j < kStep; ++j)
      if (j < left) at[kNext * j] = from_float<T>(output[j]);
#pragma unroll
    for (int j = 0; j < kHistory; ++j) input[j] = input[j + kStep];
  };
  int left = count;
  for (; left >= kStep; left -= kStep, at += kNext * kStep) step(kStep);
  if (left > 0) step(left);
  __syncthreads();

  T* y = static_cast<T*>(conv.y) + piece * conv.y_stride[0] + first * length;
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads)
    Vector::at(memory + i * kVector).store(y + i * kVector);
}

}  // namespace hiss::cuda
