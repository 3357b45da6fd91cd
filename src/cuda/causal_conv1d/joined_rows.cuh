// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/filter.cuh"
#include "cuda/tile/divide.cuh"
#include "cuda/tile/raw.cuh"
#include "cuda/tile/small_divide.cuh"

// Channels-first rows that follow one another without a gap, as one piece of memory: every access
// is a whole aligned vector, whatever the length of a row, and rows and sequences may end inside
// one. Rows, channels and tokens count in the order of consumption here, from the end of the memory
// where the direction is reverse.
namespace hiss::cuda {

struct JoinedRows {
  static constexpr int64_t kMost = int64_t{1} << 30;  // tokens of a row; channels

  int64_t vectors;  // of a piece: all of them, or those of a batch row
  Divider rows, channels;
  SmallDivider rows_near, channels_near;
};

// The sequence that an input is of, and the filter of its channel. kGeneral: a row may have several
// sequences, and there may be states from before them.
template <class T, int kWidth, bool kReverse, bool kGeneral>
class Sequence {
 public:
  // To token `place` of a row.
  __device__ __forceinline__ void move(const Conv& conv, int64_t batch_row, int channel,
                                       int place) {
    if (kGeneral && row_ == batch_row && channel_ == channel && begin <= place && place < end)
      return;
    row_ = batch_row, channel_ = channel;
    find(conv, place);
    load_filter(conv);
  }
  __device__ __forceinline__ void next(const Conv& conv) {
    if (kGeneral && end < conv.seqlen) return find(conv, end);
    const bool last = channel_ + 1 == static_cast<int>(conv.dim);
    row_ += last;
    channel_ = last ? 0 : channel_ + 1;
    find(conv, 0);
    load_filter(conv);
  }
  // Input i < 0.
  __device__ __forceinline__ float earlier(const Conv& conv, int i) const {
    return earlier_input(conv, s_, i, kReverse ? conv.dim - 1 - channel_ : channel_);
  }

  int begin, end;  // among the tokens of its row
  float tap[kWidth], bias;

 private:
  __device__ __forceinline__ void find(const Conv& conv, int place) {
    begin = 0, end = static_cast<int>(conv.seqlen);
    if constexpr (!kGeneral) return;
    s_ = kReverse ? conv.batch - 1 - row_ : row_;
    if (conv.sequences.in_rows()) return;
    const Span span = conv.sequences.with(0, kReverse ? conv.seqlen - 1 - place : place);
    begin = static_cast<int>(kReverse ? conv.seqlen - span.end : span.begin);
    end = begin + static_cast<int>(span.end - span.begin);
    s_ = span.s;
  }
  __device__ __forceinline__ void load_filter(const Conv& conv) {
    const int at = kReverse ? static_cast<int>(conv.dim) - 1 - channel_ : channel_;
    const float* weight = conv.weight + int64_t{at} * kWidth;
    if constexpr (kWidth == 4) {
      load_pack<4>(weight, tap);
    } else {
#pragma unroll
      for (int k = 0; k < kWidth; ++k) tap[k] = weight[k];
    }
    bias = conv.bias == nullptr ? 0.0f : conv.bias[at];
  }

  int64_t row_ = -1, s_ = 0;
  int channel_ = 0;
};

// The outputs of one vector. input[kWidth - 1 + i] is its i-th input, the first of which is token
// `place` of its row; what the sequences before it have is overwritten.
template <class T, int kWidth, bool kReverse, bool kGeneral, int kVector>
__device__ __forceinline__ void filter_vector(const Conv& conv,
                                              Sequence<T, kWidth, kReverse, kGeneral>& sequence,
                                              int place, float (&input)[kWidth - 1 + kVector],
                                              float (&sum)[kVector]) {
  constexpr int kHistory = kWidth - 1;
  const int before = place - sequence.begin;
#pragma unroll
  for (int j = 0; j < kHistory; ++j)
    if (before + j < kHistory) input[j] = 0.0f;
  if (kGeneral && conv.initial != nullptr && before < kHistory) {
#pragma unroll
    for (int j = 0; j < kHistory; ++j)
      if (before + j < kHistory) input[j] = sequence.earlier(conv, before + j - kHistory);
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    sum[i] = output_of<false>(sequence.tap, sequence.bias, input + i);
  // The sequences that begin within the vector.
  for (int at = sequence.end - place; at < kVector;) {
    sequence.next(conv);
#pragma unroll
    for (int j = 0; j < kHistory + kVector - 1; ++j)
      if (j - kHistory < at) input[j] = 0.0f;
    if (kGeneral && conv.initial != nullptr) {
#pragma unroll
      for (int j = 0; j < kHistory + kVector - 1; ++j)
        if (j - kHistory < at && j >= at) input[j] = sequence.earlier(conv, j - kHistory - at);
    }
#pragma unroll
    for (int i = 1; i < kVector; ++i)
      if (i >= at) sum[i] = output_of<false>(sequence.tap, sequence.bias, input + i);
    at += sequence.end - sequence.begin;
  }
}

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

template <class T, int kVectors, int kWidth, bool kReverse, bool kGeneral, int kThreads>
__global__ void __launch_bounds__(kThreads)
    conv_joined_rows(const __grid_constant__ Conv conv, const __grid_constant__ JoinedRows rows) {
  constexpr int kVector = kWidest<T>, kHistory = kWidth - 1, kBlock = kThreads * kVectors;
  using Vector = Raw<T, kVector>;
  using Near = Before<T, kWidth, kVector, kReverse>;
  // The lane whose neighbour is another warp's, and the one that has what that lane needs of the
  // vectors before.
  constexpr int kBorder = kReverse ? 31 : 0, kOther = 31 - kBorder;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t block = int64_t{blockIdx.x} * kBlock, piece = blockIdx.y;
  const auto* x =
      reinterpret_cast<const Vector*>(static_cast<const T*>(conv.x) + piece * conv.x_stride[0]) +
      block;
  T* y = static_cast<T*>(conv.y) + piece * conv.y_stride[0] + block * kVector;
  // A lane's vectors are 32 apart.
  const int count = static_cast<int>(min(rows.vectors - block, int64_t{kBlock}));
  const int mine = (static_cast<int>(threadIdx.x) - lane) * kVectors + lane;
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
  Sequence<T, kWidth, kReverse, kGeneral> sequence;
#pragma unroll
  for (int u = 0; u < kVectors; ++u) {
    const int at = mine + u * 32;
    // Before anything waits for the vectors: the filter is another trip to memory.
    uint32_t token = 0;
    if (at < count) {
      uint32_t its_channel;
      const uint32_t far = (kReverse ? count - 1 - at : at) * kVector;
      const uint32_t row = rows.rows_near.divide(static_cast<uint32_t>(place) + far, token) +
                           static_cast<uint32_t>(channel);
      const int64_t its_batch_row = batch_row + rows.channels_near.divide(row, its_channel);
      sequence.move(conv, its_batch_row, static_cast<int>(its_channel), static_cast<int>(token));
    }
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
    float input[kHistory + kVector], sum[kVector];
#pragma unroll
    for (int j = 0; j < kHistory; ++j) input[j] = near[j];
#pragma unroll
    for (int i = 0; i < kVector; ++i) input[kHistory + i] = own[u][kReverse ? kVector - 1 - i : i];

    filter_vector<T, kWidth, kReverse, kGeneral, kVector>(conv, sequence, static_cast<int>(token),
                                                          input, sum);
    float output[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i) output[kReverse ? kVector - 1 - i : i] = sum[i];
    if (conv.silu) {
#pragma unroll
      for (float& v : output) v = silu(v);
    }
    Vector::of(output).store(y + at * kVector);
  }
}

}  // namespace hiss::cuda
