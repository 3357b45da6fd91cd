// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "core/element.h"
#include "hiss/ops/common.h"
#include "hiss/tensor.h"

namespace hiss::ops {

// How a result stands against what was expected.
struct Comparison {
  bool within = false;
  // The largest share of the bound used up, by one element or by the rms: above 1, out of bounds.
  // Infinite where no share can be given (shape, NaN, Inf, or a bound of zero).
  double ratio = 0;
  double relative_rms = 0;  // rms(result - expected) / rms(expected); 0 where both are 0
  double max_error = 0;     // largest |result - expected|
  Index worst{};            // where the largest share is
  std::string text;         // one line that says all this
};

// Shapes first, then NaN and Inf (same places, same sign), then the bound. Views of any type;
// present ones.
Comparison compare(const ConstTensorView& result, const ConstTensorView& expected,
                   const ErrorBound& bound);

}  // namespace hiss::ops
