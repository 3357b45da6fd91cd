// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/filter.cuh"
#include "cuda/tile/divide.cuh"

// What the tokens of channels-last tiles are in their sequences. Tokens are numbered in the order
// of consumption.
namespace hiss::cuda {

// Of packed tokens, in shared memory: what each of up to kMost tokens of a block is, from the
// block's first.
template <int kMost>
struct SequenceTable {
  static_assert(kMost % 32 == 0);
  int64_t s[kMost];
  uint8_t since[kMost];  // tokens before it in its sequence, at most kHistory
  uint32_t begin_bits[kMost / 32], end_bits[kMost / 32];  // first and last tokens

  // By all threads of a block; tokens past the row's end are left out.
  template <int kHistory>
  __device__ __forceinline__ void fill(const Conv& conv, int64_t first_place, int tokens) {
    for (int i = static_cast<int>(threadIdx.x); i < (tokens + 31) / 32 * 32;
         i += static_cast<int>(blockDim.x)) {
      bool begins = false, ends = false;
      if (const int64_t place = first_place + i; place < conv.seqlen) {
        const int64_t token = conv.reverse ? conv.seqlen - 1 - place : place;
        const Span span = conv.sequences.with(0, token);
        const int64_t from_begin = token - span.begin, from_end = span.end - 1 - token;
        begins = (conv.reverse ? from_end : from_begin) == 0;
        ends = (conv.reverse ? from_begin : from_end) == 0;
        s[i] = span.s;
        since[i] =
            static_cast<uint8_t>(min(conv.reverse ? from_end : from_begin, int64_t{kHistory}));
      }
      const uint32_t begin_word = __ballot_sync(~0u, begins), end_word = __ballot_sync(~0u, ends);
      if (i % 32 == 0) begin_bits[i / 32] = begin_word, end_bits[i / 32] = end_word;
    }
  }
};

// A tile of 2^n <= 32 tokens that begins at a block's token `at`.
template <class Table>
struct TileOfTable {
  const Table& table;
  const int at;

  __device__ __forceinline__ int since() const { return table.since[at]; }
  // Bit j: whether its j-th token is a first, or last, one.
  __device__ __forceinline__ uint32_t begins() const {
    return table.begin_bits[at / 32] >> at % 32;
  }
  __device__ __forceinline__ uint32_t ends() const { return table.end_bits[at / 32] >> at % 32; }
  __device__ __forceinline__ int64_t s(int j) const { return table.s[at + j]; }
};

// Joined rows of a few tokens each, of which nothing has to be looked up.
struct ShortRows {
  // 1 <= period <= 16.
  explicit ShortRows(int64_t period) : by_period(period) {
    for (int64_t i = 0; i < 32; i += by_period.divisor()) begin_bits |= uint32_t{1} << i;
  }
  Divider by_period;
  uint32_t begin_bits = 0;  // bit i: whether i is a multiple of the period
};

// A tile that begins at `place`, whose tokens and those of a row are at most 32.
class TileOfShortRows {
 public:
  __device__ __forceinline__ TileOfShortRows(const Conv& conv, const ShortRows& rows, int64_t place)
      : conv_(conv), rows_(rows) {
    int64_t token;
    const int64_t row = rows.by_period.divide(place, token);
    first_ = conv.reverse ? conv.sequences.nseq - 1 - row : row;
    phase_ = static_cast<int>(token);
  }
  __device__ __forceinline__ int since() const { return phase_; }
  __device__ __forceinline__ uint32_t begins() const { return rows_.begin_bits >> phase_; }
  __device__ __forceinline__ uint32_t ends() const { return rows_.begin_bits >> (phase_ + 1); }
  __device__ __forceinline__ int64_t s(int j) const {
    const int rows_after = __popc(begins() >> 1 & ((uint32_t{1} << j) - 1));
    return conv_.reverse ? first_ - rows_after : first_ + rows_after;
  }

 private:
  const Conv& conv_;
  const ShortRows& rows_;
  int64_t first_;
  int phase_;
};

}  // namespace hiss::cuda
