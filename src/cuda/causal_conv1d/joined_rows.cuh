// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/row_borders.cuh"

// Channels-first rows that follow one another without a gap, as one piece of memory: every access
// is a whole aligned vector, whatever the length of a row. A warp filters its vectors as if each
// were of one row and then, a lane for each border, what follows the borders within them. Rows,
// channels and tokens count in the order of consumption here, from the end of the memory where the
// direction is reverse.
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
  uint32_t word[kWords] = {};
};

// kGeneral: a row may have several sequences, and there may be states from before them.
template <class T, int kVectors, int kWidth, bool kReverse, bool kGeneral, bool kSilu, int kThreads>
__global__ void __launch_bounds__(kThreads)
    conv_joined_rows(const __grid_constant__ Conv conv, const __grid_constant__ JoinedRows rows) {
  constexpr int kVector = kWidest<T>, kHistory = kWidth - 1, kBlock = kThreads * kVectors;
  using Vector = Raw<T, kVector>;
  using Near = Before<T, kWidth, kVector, kReverse>;
  // The lane whose neighbour is another warp's, and the one that has what that lane needs of the
  // vectors before.
  constexpr int kBorder = kReverse ? 31 : 0, kOther = 31 - kBorder;
  wait_for_kernels_before();
  let_next_kernel_start();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t block = int64_t{blockIdx.x} * kBlock, piece = blockIdx.y;
  const T* x_of_block = static_cast<const T*>(conv.x) + piece * conv.x_stride[0] + block * kVector;
  const auto* x = reinterpret_cast<const Vector*>(x_of_block);
  T* y = static_cast<T*>(conv.y) + piece * conv.y_stride[0] + block * kVector;
  // A lane's vectors are 32 apart.
  const int count = static_cast<int>(min(rows.vectors - block, int64_t{kBlock}));
  const int warps = (static_cast<int>(threadIdx.x) - lane) * kVectors, mine = warps + lane;
  Vector own[kVectors];
#pragma unroll
  for (int u = 0; u < kVectors; ++u)
    if (mine + u * 32 < count) own[u] = x[mine + u * 32];
  // Beside the warp's vectors.
  constexpr int kEdge = kReverse ? kVectors - 1 : 0;
  Near beyond;
  if (lane == kBorder) {
    const int at = mine + (kReverse ? kEdge * 32 + 1 : -1);
    if (kReverse ? block + at < rows.vectors : block + at >= 0) {
#pragma unroll
      for (int i = 0; i < Near::kWords; ++i) beyond.word[i] = x[at].word[Near::kFrom + i];
    }
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
    uint32_t its_channel;
    const uint32_t row = rows.rows_near.divide(static_cast<uint32_t>(stretch.place + far), token);
    rows.channels_near.divide(row + static_cast<uint32_t>(stretch.channel), its_channel);
    return static_cast<int>(its_channel);
  };
  uint32_t first_token;
  ChannelFilter<kWidth> filter;
  filter.load(conv, find(stretch.begin, first_token));
  const bool one_row =
      static_cast<int>(first_token) + stretch.end - stretch.begin <= static_cast<int>(conv.seqlen);
  const bool borders = kGeneral || !one_row;
  std::conditional_t<kGeneral, SequenceBegins<T, kWidth, kReverse, kSilu>,
                     RowBegins<T, kWidth, kReverse, kSilu>>
      begins(conv, rows, stretch, x_of_block);
  if (borders) begins.filter();
#pragma unroll
  for (int u = 0; u < kVectors; ++u) {
    const int at = mine + u * 32, far = (kReverse ? count - 1 - at : at) * kVector;
    // Before anything waits for the vectors: the filter is another trip to memory.
    uint32_t token = first_token + static_cast<uint32_t>(far - stretch.begin);
    if (!one_row && at < count) filter.load(conv, find(far, token));
    Near near;
#pragma unroll
    for (int i = 0; i < Near::kWords; ++i) {
      const uint32_t here = own[u].word[Near::kFrom + i];
      const uint32_t there = own[u == kEdge ? u : kReverse ? u + 1 : u - 1].word[Near::kFrom + i];
      near.word[i] =
          __shfl_sync(~0u, lane == kOther ? there : here, (lane + (kReverse ? 1 : 31)) % 32);
      if (u == kEdge && lane == kBorder) near.word[i] = beyond.word[i];
    }
    if (at >= count) continue;
    float input[kHistory + kVector], output[kVector];
#pragma unroll
    for (int j = 0; j < kHistory; ++j)
      input[j] = static_cast<int>(token) + j < kHistory ? 0.0f : near[j];
#pragma unroll
    for (int i = 0; i < kVector; ++i) input[kHistory + i] = own[u][kReverse ? kVector - 1 - i : i];
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      output[kReverse ? kVector - 1 - i : i] = output_of<kSilu>(filter.tap, filter.bias, input + i);
    Vector::of(output).store(y + at * kVector);
  }

  // Lanes overwrite what others of their warp have stored.
  __syncwarp();
  if (borders) begins.store(y);
}

}  // namespace hiss::cuda
