// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/filter.cuh"

namespace hiss::cuda {

// In shared memory: what each of up to kMost tokens of a block is in its sequence. Tokens are
// numbered in the order of consumption from the block's first.
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
  // Bit j: whether token at + j is a first, or last, one. For tiles of 2^n <= 32 tokens.
  __device__ __forceinline__ uint32_t begins(int at) const {
    return begin_bits[at / 32] >> at % 32;
  }
  __device__ __forceinline__ uint32_t ends(int at) const { return end_bits[at / 32] >> at % 32; }
};

}  // namespace hiss::cuda
