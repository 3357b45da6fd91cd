// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hiss/tensor.h"

// Which tokens a sequence has, from cu_seqlens in device memory or from the batch without it. Safe
// for any contents: bounds are clamped to the row, so tokens between them exist.
namespace hiss::cuda {

// Tokens [begin, end) of a batch row; s is the row of the state tensors.
struct Span {
  int64_t row, s, begin, end;
};

struct Sequences {
  const void* cu_seqlens;  // null: one sequence a batch row, or one every `period` tokens
  int64_t stride, nseq, seqlen;
  bool wide;  // I64
  int64_t period = 0;

  __host__ __device__ bool in_rows() const { return cu_seqlens == nullptr && period == 0; }

  static Sequences of(const ConstTensorView& cu_seqlens, int64_t batch, int64_t seqlen) {
    if (!cu_seqlens.present()) return {nullptr, 0, batch, seqlen, false};
    return {cu_seqlens.data, cu_seqlens.stride[0], cu_seqlens.shape[0] - 1, seqlen,
            cu_seqlens.dtype == DType::kI64};
  }
  __device__ int64_t bound(int64_t i) const {
    const int64_t value = wide ? static_cast<const int64_t*>(cu_seqlens)[i * stride]
                               : static_cast<const int32_t*>(cu_seqlens)[i * stride];
    return value < 0 ? 0 : value < seqlen ? value : seqlen;
  }
  __device__ Span at(int64_t s) const {
    if (period > 0) return {0, s, s * period, (s + 1) * period};
    if (cu_seqlens == nullptr) return {s, s, 0, seqlen};
    const int64_t begin = bound(s), end = bound(s + 1);
    return {0, s, begin, end < begin ? begin : end};
  }
  // The sequence that a token belongs to. A token that a broken list leaves out is one of its own.
  __device__ Span with(int64_t row, int64_t token) const {
    if (period > 0) return at(token / period);
    if (cu_seqlens == nullptr) return {row, row, 0, seqlen};
    int64_t low = 0, high = nseq;  // bound(low) <= token < bound(high) in a list that is right
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (bound(middle) <= token ? low : high) = middle;
    }
    const Span span = at(low);
    return span.begin <= token && token < span.end ? span : Span{0, low, token, token + 1};
  }
  // The same for a token beside a sequence: mostly that of the next one or the one before.
  __device__ Span after(const Span& span, int64_t token) const {
    const int64_t s = token >= span.end ? span.s + 1 : span.s - 1;
    if (s < 0 || s >= nseq) return with(span.row, token);
    const Span next = at(s);
    return next.begin <= token && token < next.end ? next : with(span.row, token);
  }
};

}  // namespace hiss::cuda
