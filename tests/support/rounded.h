// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/element.h"
#include "hiss/tensor.h"
#include "ops/compare.h"

namespace hiss::testing_support {

// Empty, or where `got` is not what float32 holds exactly, rounded to nearest: what bounds on sums
// of errors cannot show.
inline std::string misrounded(const ConstTensorView& got, const ConstTensorView& exact) {
  TensorView rounded;
  rounded.dtype = got.dtype, rounded.rank = exact.rank, rounded.shape = exact.shape;
  int64_t elements = 1;
  for (int axis = exact.rank - 1; axis >= 0; --axis) {
    rounded.stride[axis] = elements;
    elements *= exact.shape[axis];
  }
  std::vector<std::byte> memory(static_cast<size_t>(elements * size_of(got.dtype)));
  rounded.data = memory.data();
  copy_elements(exact, rounded);
  const ops::Comparison c = ops::compare(got, rounded, {});
  return c.within ? "" : "not rounded to nearest: " + c.text;
}

}  // namespace hiss::testing_support
