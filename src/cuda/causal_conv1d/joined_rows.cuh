// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/row_borders.cuh"
#include "cuda/tile/async_copy.cuh"

// Channels-first rows that follow one another without a gap, as one piece of memory: every access
// is a whole aligned vector, whatever the length of a row. A warp has its vectors in shared memory,
// where a lane finds what lies before its own; it filters them as if each were of one row and then,
// a lane for each border, what follows the borders within them. Rows, channels and tokens count in
// the order of consumption here, from the end of the memory where the direction is reverse.
namespace hiss::cuda {

// The inputs before a vector, in words: the end of its neighbour, the beginning in reverse.
template <class T, int kWidth, int kVector, bool kReverse>
struct Before {
  static constexpr int kInWord = 4 / static_cast<int>(sizeof(T)), kHistory = kWidth - 1;
  static constexpr int kWords = (kHistory + kInWord - 1) / kInWord;
  static constexpr int kFrom = kReverse ? 0 : Raw<T, kVector>::kWords - kWords;

  __device__ __forceinline__ float operator[](int j) const {  // in the order of consumption
    const int i = kReverse ? kHistory - 1 - j : kWords * kInWord - kHistory + j;
    return element_of<T>(word[i / kInWord], i % kInWord);
  }
  __device__ __forceinline__ explicit Before(const Raw<T, kVector>& vector) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) word[i] = vector.word[kFrom + i];
  }
  uint32_t word[kWords];
};

// kStates: there are inputs before the first token of a row.
template <class T, int kVectors, int kWidth, bool kReverse, bool kStates, bool kSilu, int kThreads>
__global__ void __launch_bounds__(kThreads)
    conv_joined_rows(const __grid_constant__ Conv conv, const __grid_constant__ JoinedRows rows) {
  constexpr int kVector = kWidest<T>, kHistory = kWidth - 1, kBlock = kThreads * kVectors;
  using Vector = Raw<T, kVector>;
  using Near = Before<T, kWidth, kVector, kReverse>;
  // A warp's vectors and the one beside them, which comes first in the order of consumption.
  constexpr int kOfWarp = 32 * kVectors + 1, kBeside = kReverse ? 32 * kVectors : 0;
  __shared__ Vector memory[kThreads / 32 * kOfWarp];
  wait_for_kernels_before();
  let_next_kernel_start();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t block = int64_t{blockIdx.x} * kBlock, piece = blockIdx.y;
  const T* x_of_block = static_cast<const T*>(conv.x) + piece * conv.x_stride[0] + block * kVector;
  T* y = static_cast<T*>(conv.y) + piece * conv.y_stride[0] + block * kVector;
  // A lane's vectors are 32 apart.
  const int count = static_cast<int>(min(rows.vectors - block, int64_t{kBlock}));
  const int warps = (static_cast<int>(threadIdx.x) - lane) * kVectors, mine = warps + lane;
  Vector* of_warp = memory + static_cast<int>(threadIdx.x) / 32 * kOfWarp;
  Vector* own = of_warp + (kReverse ? 0 : 1) + lane;
  if (lane == 0) {
    const int at = warps + (kReverse ? 32 * kVectors : -1);
    if (kReverse ? block + at < rows.vectors : block + at >= 0)
      copy_async<16>(x_of_block + at * kVector, of_warp + kBeside);
  }
  // In the order of consumption, a group of copies for each.
  const auto nth = [](int n) { return (kReverse ? kVectors - 1 - n : n) * 32; };
#pragma unroll
  for (int n = 0; n < kVectors; ++n) {
    if (const int at = mine + nth(n); at < count)
      copy_async<16>(x_of_block + at * kVector, own + nth(n));
    commit_copies();
  }

  // The block's first input, and how far from it this vector's is.
  int64_t place, channel;
  const int64_t first = kReverse ? rows.vectors - block - count : block;
  const int64_t batch_row = (kReverse ? gridDim.y - 1 - piece : piece) +
                            rows.channels.divide(rows.rows.divide(first * kVector, place), channel);
  const int last = min(warps + 32 * kVectors, count);
  const Stretch stretch{batch_row,
                        static_cast<int>(channel),
                        static_cast<int>(place),
                        (kReverse ? count - last : warps) * kVector,
                        (kReverse ? count - warps : last) * kVector,
                        count};
  const auto find = [&](int far, uint32_t& token) {
    return NearRow(rows, stretch,
                   rows.rows_near.divide(static_cast<uint32_t>(stretch.place + far), token));
  };
  uint32_t first_token;
  NearRow row = find(stretch.begin, first_token);
  ChannelFilter<kWidth> filter;
  filter.load(conv, row.channel);
  const bool one_row =
      static_cast<int>(first_token) + stretch.end - stretch.begin <= static_cast<int>(conv.seqlen);
  RowBegins<T, kWidth, kReverse, kStates, kSilu> begins(conv, rows, stretch, x_of_block);
  if (!one_row) begins.filter();
  const auto put = [&]<int n>() {
    const int at = mine + nth(n), far = (kReverse ? count - 1 - at : at) * kVector;
    // Before anything waits for the vectors: the filter is another trip to memory.
    uint32_t token = first_token + static_cast<uint32_t>(far - stretch.begin);
    if (!one_row && at < count) {
      row = find(far, token);
      filter.load(conv, row.channel);
    }
    wait_copies<kVectors - 1 - n>();
    __syncwarp();
    if (at >= count) return;
    const Vector here = own[nth(n)];
    const Near near(own[nth(n) + (kReverse ? 1 : -1)]);
    float input[kHistory + kVector], output[kVector];
#pragma unroll
    for (int j = 0; j < kHistory; ++j)
      input[j] = static_cast<int>(token) + j < kHistory
                     ? input_before<kStates>(conv, row, static_cast<int>(token) + j - kHistory)
                     : near[j];
#pragma unroll
    for (int i = 0; i < kVector; ++i) input[kHistory + i] = here[kReverse ? kVector - 1 - i : i];
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      output[kReverse ? kVector - 1 - i : i] = output_of<kSilu>(filter.tap, filter.bias, input + i);
    Vector::of(output).store(y + at * kVector);
  };
  [&]<int... n>(std::integer_sequence<int, n...>) { (put.template operator()<n>(), ...); }
  (std::make_integer_sequence<int, kVectors>());

  // Lanes overwrite what others of their warp have stored.
  __syncwarp();
  if (!one_row) begins.store(y);
}

}  // namespace hiss::cuda
