// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hiss/ops/common.h"
#include "hiss/tensor.h"

// How the operators' error bounds are made: the error of the arithmetic, as a multiple of float's
// unit roundoff u, plus the rounding of the stored result.
namespace hiss::ops {

// Half the distance of 1 to the next larger value: the largest relative error of one rounding.
constexpr double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return 0x1p-8;
    case DType::kF16:
      return 0x1p-11;
    default:
      return 0x1p-24;
  }
}

// The error of a sum of n rounded terms grows like a random walk, by about u/2 a step. The cap
// keeps every promise of the standard class below 1e-5 (NMSE 1e-10), which holds for longer
// sequences because states forget.
inline double walk(int64_t n) {
  return 0.5 * std::sqrt(static_cast<double>(std::min<int64_t>(n, 1 << 16)));
}

// Arithmetic with relative rms error `units` of F32 roundoff, result stored as `stored`. Single
// elements may be off by 24 times the rms: a few million elements of a normal distribution reach
// six, and cancellation in an element that is small among large ones takes the rest (17.5 has been
// seen). The fast class rounds up to three operands of each product to bf16, whose errors of 0.4
// units each add up in squares to 0.7; two units leave room for cancellation.
inline ErrorBound promise(double units, DType stored, Precision precision) {
  double rms = units * unit_roundoff(DType::kF32);
  if (precision == Precision::kFast) rms += 2.0 * unit_roundoff(DType::kBF16);
  const double rounding = stored == DType::kF32 ? 0.0 : unit_roundoff(stored);
  return {
      .relative_rms = rms + rounding, .max_over_rms = 24.0 * rms, .relative = 4.0 * rms + rounding};
}

}  // namespace hiss::ops
