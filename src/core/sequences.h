// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hiss/tensor.h"

namespace hiss {

// Element i of a list of indices (I32 or I64, host memory, [n]).
inline int64_t index_at(const ConstTensorView& list, int64_t i) {
  const int64_t at = i * list.stride[0];
  return list.dtype == DType::kI32 ? list.as<int32_t>()[at] : list.as<int64_t>()[at];
}

// One sequence: tokens [begin, begin + length) of a batch row.
struct Sequence {
  int64_t row, begin, length;
};

// Sequence s of a (batch, seqlen, ...) tensor; see "Packed sequences" in hiss/ops/common.h.
inline Sequence sequence_at(const ConstTensorView& cu_seqlens, int64_t seqlen, int64_t s) {
  if (!cu_seqlens.present()) return {s, 0, seqlen};
  const int64_t begin = index_at(cu_seqlens, s);
  return {0, begin, index_at(cu_seqlens, s + 1) - begin};
}

}  // namespace hiss
