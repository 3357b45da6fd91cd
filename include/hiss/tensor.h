// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace hiss {

enum class DType : uint8_t { kF32, kF16, kBF16, kF64, kI32, kI64 };

// Bytes of one element.
constexpr int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF64:
    case DType::kI64:
      return 8;
  }
  return 0;
}

// "F32", "BF16" ... (safetensors' names).
const char* to_string(DType dtype);

inline constexpr int kMaxRank = 5;

// A strided window on somebody else's memory. Sizes and strides count elements and are 64-bit;
// a stride may be 0 (broadcast) or negative. A default-made view is *absent*: how optional tensors
// of an operator are left out. A layout is nothing but strides: (batch, dim, seqlen) memory is
// handed to an operator as its (batch, seqlen, dim) view with the strides exchanged.
template <class Void>
struct BasicTensorView {
  static constexpr int kAbsent = -1;
  template <class T>
  using Element = std::conditional_t<std::is_const_v<Void>, const T, T>;

  Void* data = nullptr;
  DType dtype = DType::kF32;
  int rank = kAbsent;
  std::array<int64_t, kMaxRank> shape{};
  std::array<int64_t, kMaxRank> stride{};

  BasicTensorView() = default;
  // Row-major view of dense memory.
  BasicTensorView(Void* memory, DType type, std::initializer_list<int64_t> sizes)
      : data(memory), dtype(type), rank(static_cast<int>(sizes.size())) {
    int i = 0;
    for (int64_t size : sizes) shape[i++] = size;
    int64_t step = 1;
    for (i = rank - 1; i >= 0; --i) {
      stride[i] = step;
      step *= shape[i];
    }
  }
  // Any strides.
  BasicTensorView(Void* memory, DType type, std::initializer_list<int64_t> sizes,
                  std::initializer_list<int64_t> strides)
      : BasicTensorView(memory, type, sizes) {
    int i = 0;
    for (int64_t s : strides) stride[i++] = s;
  }
  // A view to write through is a view to read through.
  template <class Other>
  requires(std::is_const_v<Void> && !std::is_const_v<Other>)
      BasicTensorView(const BasicTensorView<Other>& other)  // NOLINT: implicit on purpose
      : data(other.data),
        dtype(other.dtype),
        rank(other.rank),
        shape(other.shape),
        stride(other.stride) {}

  bool present() const { return rank != kAbsent; }
  int64_t elements() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= shape[i];
    return rank == kAbsent ? 0 : n;
  }
  // True when the elements lie in row-major order without gaps.
  bool contiguous() const {
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (shape[i] != 1 && stride[i] != step) return false;
      step *= shape[i];
    }
    return true;
  }
  template <class T>
  Element<T>* as() const {
    return static_cast<Element<T>*>(data);
  }
};

using TensorView = BasicTensorView<void>;
using ConstTensorView = BasicTensorView<const void>;

// "F32 [2, 37, 12]", "absent".
std::string to_string(const ConstTensorView& view);

}  // namespace hiss
