// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hiss/status.h"

namespace hiss::models {

// A row-major matrix in somebody else's memory; `stride` floats from one row to the next.
struct ConstMatrix {
  const float* data = nullptr;
  int64_t rows = 0, cols = 0, stride = 0;
};
struct Matrix {
  float* data = nullptr;
  int64_t rows = 0, cols = 0, stride = 0;
  operator ConstMatrix() const { return {data, rows, cols, stride}; }  // NOLINT: only adds const
};

enum class Write : uint8_t { kReplace, kAdd };

// c (m, n) = or += a (m, k) b (k, n), on the calling thread. The bits of c depend on sizes, strides
// and values only. kInternal, kResourceExhausted: the library said no.
Status matrix_product(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                      Write write = Write::kReplace);

}  // namespace hiss::models
