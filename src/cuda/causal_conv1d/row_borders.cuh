// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/filter.cuh"
#include "cuda/tile/divide.cuh"
#include "cuda/tile/small_divide.cuh"

// Borders in joined rows (joined_rows.cuh): what a warp filters apart from its vectors. Rows,
// channels and tokens count in the order of consumption.
namespace hiss::cuda {

struct JoinedRows {
  static constexpr int64_t kMost = int64_t{1} << 29;  // tokens of a row; channels

  int64_t vectors;  // of a piece: all of them, or those of a batch row
  Divider rows, channels;
  SmallDivider rows_near, channels_near;
};

// A stretch of a block's elements, counted from its first, which is token `place` of channel
// `channel` of batch row `batch_row`.
struct Stretch {
  int64_t batch_row;
  int channel, place, begin, end;
  int vectors;  // of the block
};

// A row of a block, the number of its first one being 0.
struct NearRow {
  __device__ __forceinline__ NearRow(const JoinedRows& rows, const Stretch& stretch, uint32_t row) {
    uint32_t rest;
    batch_row = stretch.batch_row +
                rows.channels_near.divide(row + static_cast<uint32_t>(stretch.channel), rest);
    channel = static_cast<int>(rest);
  }
  int64_t batch_row;
  int channel;
};

template <int kWidth>
struct ChannelFilter {
  __device__ __forceinline__ void load(const Conv& conv, int channel) {
    const int at = conv.reverse ? static_cast<int>(conv.dim) - 1 - channel : channel;
    const float* weight = conv.weight + int64_t{at} * kWidth;
    if constexpr (kWidth == 4) {
      load_pack<4>(weight, tap);
    } else {
#pragma unroll
      for (int k = 0; k < kWidth; ++k) tap[k] = weight[k];
    }
    bias = conv.bias == nullptr ? 0.0f : conv.bias[at];
  }
  float tap[kWidth], bias;
};

// Input i < 0 of a row.
template <bool kStates>
__device__ __forceinline__ float input_before(const Conv& conv, const NearRow& row, int64_t i) {
  if constexpr (!kStates) return 0.0f;
  return earlier_input(conv, conv.reverse ? conv.batch - 1 - row.batch_row : row.batch_row, i,
                       conv.reverse ? conv.dim - 1 - row.channel : row.channel);
}

// Where rows begin within a vector: its tokens from there on. A lane has every 32nd begin of its
// warp's stretch.
template <class T, int kWidth, bool kReverse, bool kStates, bool kSilu>
class RowBegins {
 public:
  __device__ __forceinline__ RowBegins(const Conv& conv, const JoinedRows& rows,
                                       const Stretch& stretch, const T* x)
      : conv_(conv), rows_(rows), stretch_(stretch), x_(x) {
    const int length = static_cast<int>(conv.seqlen);
    uint32_t rest;
    row_ = static_cast<int>(rows.rows_near.divide(
               static_cast<uint32_t>(stretch.place + stretch.begin + length - 1), rest)) +
           static_cast<int>(threadIdx.x) % 32;
    find();
  }
  // The first of them before the warp's own vectors, in the shadow of their loads.
  __device__ __forceinline__ void filter() {
    if (from_ == to_) return;
    const NearRow row(rows_, stretch_, static_cast<uint32_t>(row_));
    ChannelFilter<kWidth> filter;
    filter.load(conv_, row.channel);
    const auto own = Raw<T, kVector>::at(x_ + vector_ * kVector);
    float input[kHistory + kVector], output[kVector];
#pragma unroll
    for (int i = 0; i < kHistory + kVector; ++i) {
      input[i] = 0.0f;
      if (i - kHistory >= from_)
        input[i] = own[kReverse ? kVector - 1 - i + kHistory : i - kHistory];
      else if (kStates && i >= from_)
        input[i] = input_before<kStates>(conv_, row, i - kHistory - from_);
    }
    output[kReverse ? kVector - 1 : 0] = 0;
#pragma unroll
    for (int i = 1; i < kVector; ++i) {
      output[kReverse ? kVector - 1 - i : i] = output_of<kSilu>(filter.tap, filter.bias, input + i);
    }
    result_ = Raw<T, kVector>::of(output);
  }
  // All of them, when the warp's vectors are stored.
  __device__ __forceinline__ void store(T* y) {
    for (;;) {
      using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>;
      auto* to = reinterpret_cast<Bits*>(y + vector_ * kVector);
#pragma unroll
      for (int i = 1; i < kVector; ++i) {
        const int at = kReverse ? kVector - 1 - i : i;
        if (i >= from_ && i < to_)
          to[at] = static_cast<Bits>(result_.word[at / kInWord] >> at % kInWord * 16);
      }
      row_ += 32;
      if (!find()) return;
      filter();
    }
  }

 private:
  static constexpr int kVector = kWidest<T>, kHistory = kWidth - 1,
                       kInWord = Raw<T, kVector>::kInWord;

  __device__ __forceinline__ bool find() {
    const int64_t begin = int64_t{row_} * conv_.seqlen - stretch_.place;
    from_ = to_ = vector_ = 0;
    if (begin >= stretch_.end) return false;
    const int near = static_cast<int>(begin);
    if (near % kVector == 0) return true;
    from_ = near % kVector;
    to_ = static_cast<int>(min(int64_t{kVector}, from_ + conv_.seqlen));
    vector_ = kReverse ? stretch_.vectors - 1 - near / kVector : near / kVector;
    return true;
  }

  const Conv& conv_;
  const JoinedRows& rows_;
  const Stretch& stretch_;
  const T* x_;
  int row_, from_, to_, vector_;  // tokens [from, to) of a vector, in the order of consumption
  Raw<T, kVector> result_;
};

}  // namespace hiss::cuda
