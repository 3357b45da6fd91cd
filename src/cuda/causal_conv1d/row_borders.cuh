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
  static constexpr int64_t kMost = int64_t{1} << 29;  // tokens of a row; channels; sequences

  int64_t vectors;  // of a piece: all of them, or those of a batch row
  Divider rows, channels;
  SmallDivider rows_near, channels_near, sequences;
};

// A stretch of a block's elements, counted from its first, which is token `place` of channel
// `channel` of batch row `batch_row`.
struct Stretch {
  int64_t batch_row;
  int channel, place, begin, end;
  int vectors;  // of the block
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

// Where rows begin within a vector: its tokens from there on, with zeros before them. A lane has
// every 32nd begin of its warp's stretch.
template <class T, int kWidth, bool kReverse, bool kSilu>
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
    uint32_t channel;
    rows_.channels_near.divide(static_cast<uint32_t>(stretch_.channel + row_), channel);
    ChannelFilter<kWidth> filter;
    filter.load(conv_, static_cast<int>(channel));
    const auto own = Raw<T, kVector>::at(x_ + vector_ * kVector);
    float input[kHistory + kVector], output[kVector];
#pragma unroll
    for (int i = 0; i < kHistory + kVector; ++i)
      input[i] =
          i - kHistory >= from_ ? own[kReverse ? kVector - 1 - i + kHistory : i - kHistory] : 0.0f;
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

// Where sequences begin that are a part of a row, or have a state from before them: the tokens that
// the filter does not reach from within, and with a new row the rest of the vector.
template <class T, int kWidth, bool kReverse, bool kSilu>
class SequenceBegins {
 public:
  __device__ __forceinline__ SequenceBegins(const Conv& conv, const JoinedRows& rows,
                                            const Stretch& stretch, const T* x)
      : conv_(conv),
        rows_(rows),
        stretch_(stretch),
        x_(x),
        nseq_(conv.sequences.in_rows() ? 1 : static_cast<int>(conv.sequences.nseq)),
        lane_bits_(int64_t{nseq_} * 16 < conv.seqlen ? 2 : 0) {
    uint32_t token;
    row_ = static_cast<int>(rows.rows_near.divide(
        static_cast<uint32_t>(max(stretch.place + stretch.begin - (kHistory - 1), 0)), token));
    // The first that may have tokens in the stretch: a lane asks for one of 32.
    sequence_ = 0;
    for (int end = nseq_; sequence_ < end;) {
      const int step = (end - sequence_ + 31) / 32, at = sequence_ + lane() * step;
      const int before =
          __popc(__ballot_sync(~0u, at < end && bound(at) < static_cast<int>(token)));
      if (before == 0) break;
      sequence_ += (before - 1) * step + 1;
      end = min(end, sequence_ + step - 1);
    }
    sequence_ += lane() >> lane_bits_;
    more_ = __shfl_sync(~0u, find(), 31);
  }
  // The first of them before the warp's own vectors, in the shadow of their loads.
  __device__ __forceinline__ void filter() {
    if (token_ < end_) result_ = output();
  }
  // All of them, when the warp's vectors are stored.
  __device__ __forceinline__ void store(T* y) {
    for (;;) {
      for (; token_ < end_; filter()) {
        y[memory(token_)] = from_float<T>(result_);
        token_ += 1 << lane_bits_;
      }
      if (!more_) return;
      sequence_ += 32 >> lane_bits_;
      more_ = __shfl_sync(~0u, find(), 31);
      filter();
    }
  }

 private:
  static constexpr int kVector = kWidest<T>, kHistory = kWidth - 1;

  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  // The first token of the i-th sequence of a row.
  __device__ __forceinline__ int bound(int i) const {
    if (conv_.sequences.in_rows()) return i * static_cast<int>(conv_.seqlen);
    return static_cast<int>(kReverse ? conv_.seqlen - conv_.sequences.bound(nseq_ - i)
                                     : conv_.sequences.bound(i));
  }
  __device__ __forceinline__ int memory(int i) const {
    return kReverse ? stretch_.vectors * kVector - 1 - i : i;
  }
  // The lane's first token of a sequence; a few lanes share one. Whether it begins in the stretch.
  __device__ __forceinline__ bool find() {
    uint32_t rest;
    row_ += static_cast<int>(rows_.sequences.divide(static_cast<uint32_t>(sequence_), rest));
    sequence_ = static_cast<int>(rest);
    const int64_t row_begin = int64_t{row_} * conv_.seqlen - stretch_.place;
    const int64_t begin = row_begin + bound(sequence_);
    begin_ = token_ = end_ = 0;
    if (begin >= stretch_.end) return false;
    begin_ = static_cast<int>(begin);
    const int aligned = (begin_ + kVector - 1) / kVector * kVector;
    end_ = static_cast<int>(
        min(min(int64_t{stretch_.end}, row_begin + bound(sequence_ + 1)),
            int64_t{max(begin_ + kHistory, begin == row_begin ? aligned : begin_)}));
    token_ = max(begin_, stretch_.begin) + (lane() & ((1 << lane_bits_) - 1));
    return true;
  }
  __device__ __forceinline__ float output() const {
    uint32_t channel;
    const int64_t batch_row =
        stretch_.batch_row +
        rows_.channels_near.divide(static_cast<uint32_t>(stretch_.channel + row_), channel);
    const int64_t s = conv_.sequences.in_rows()
                          ? (kReverse ? conv_.batch - 1 - batch_row : batch_row)
                          : (kReverse ? nseq_ - 1 - sequence_ : sequence_);
    ChannelFilter<kWidth> filter;
    filter.load(conv_, static_cast<int>(channel));
    float input[kWidth];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const int from = token_ - kHistory + k;
      input[k] = from < begin_ ? earlier_input(conv_, s, from - begin_,
                                               kReverse ? conv_.dim - 1 - channel : channel)
                               : to_float(x_[memory(from)]);
    }
    return output_of<kSilu>(filter.tap, filter.bias, input);
  }

  const Conv& conv_;
  const JoinedRows& rows_;
  const Stretch& stretch_;
  const T* x_;
  const int nseq_, lane_bits_;
  int row_, sequence_, begin_, token_, end_;
  bool more_;  // sequences than the lanes have now
  float result_ = 0;
};

}  // namespace hiss::cuda
