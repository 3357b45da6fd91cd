// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>

#include "core/float16.h"
#include "hiss/tensor.h"

// Single elements of tensors of any type, as double. For references, tests and files; not fast.
namespace hiss {

// The element at an offset (in elements), exactly but for I64 beyond 2^53.
inline double load_element(const ConstTensorView& v, int64_t offset) {
  switch (v.dtype) {
    case DType::kF32:
      return v.as<float>()[offset];
    case DType::kF16:
      return float_from_f16(v.as<uint16_t>()[offset]);
    case DType::kBF16:
      return float_from_bf16(v.as<uint16_t>()[offset]);
    case DType::kF64:
      return v.as<double>()[offset];
    case DType::kI32:
      return v.as<int32_t>()[offset];
    case DType::kI64:
      return static_cast<double>(v.as<int64_t>()[offset]);
  }
  return 0;
}

// Rounds to the type.
inline void store_element(const TensorView& v, int64_t offset, double value) {
  switch (v.dtype) {
    case DType::kF32:
      v.as<float>()[offset] = static_cast<float>(value);
      break;
    case DType::kF16:
      v.as<uint16_t>()[offset] = f16_from_float(static_cast<float>(value));
      break;
    case DType::kBF16:
      v.as<uint16_t>()[offset] = bf16_from_float(static_cast<float>(value));
      break;
    case DType::kF64:
      v.as<double>()[offset] = value;
      break;
    case DType::kI32:
      v.as<int32_t>()[offset] = static_cast<int32_t>(value);
      break;
    case DType::kI64:
      v.as<int64_t>()[offset] = static_cast<int64_t>(value);
      break;
  }
}

// Calls f(index) for every index of a shape, last axis fastest.
using Index = std::array<int64_t, kMaxRank>;
template <class F>
void for_each_index(const ConstTensorView& shape, F&& f) {
  if (shape.elements() == 0) return;
  Index index{};
  for (;;) {
    f(index);
    int axis = shape.rank - 1;
    while (axis >= 0 && ++index[axis] == shape.shape[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}

inline int64_t offset_of(const ConstTensorView& v, const Index& index) {
  int64_t offset = 0;
  for (int axis = 0; axis < v.rank; ++axis) offset += index[axis] * v.stride[axis];
  return offset;
}

// Views of one shape: copies values, rounding to the type of `to`.
inline void copy_elements(const ConstTensorView& from, const TensorView& to) {
  for_each_index(from, [&](const Index& index) {
    store_element(to, offset_of(to, index), load_element(from, offset_of(from, index)));
  });
}

}  // namespace hiss
