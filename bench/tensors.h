// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "hiss/tensor.h"

namespace hiss::bench {

// Dense F32 tensors, filled from one generator.
class Tensors {
 public:
  TensorView normal(std::initializer_list<int64_t> sizes, float mean = 0, float deviation = 1) {
    TensorView view(nullptr, DType::kF32, sizes);
    view.data = take(view.elements());
    std::normal_distribution<float> distribution(mean, deviation);
    for (int64_t i = 0; i < view.elements(); ++i) view.as<float>()[i] = distribution(random_);
    return view;
  }
  // The same strides: the view covers its memory without gaps.
  TensorView copy(const TensorView& view) {
    TensorView copied = view;
    copied.data = take(view.elements());
    std::memcpy(copied.data, view.data, static_cast<size_t>(view.elements()) * sizeof(float));
    return copied;
  }

 private:
  // At the start of a cache line.
  float* take(int64_t elements) {
    memory_.emplace_back(static_cast<size_t>(elements) + 16);
    const auto address = reinterpret_cast<uintptr_t>(memory_.back().data());
    return reinterpret_cast<float*>((address + 63) / 64 * 64);
  }

  std::mt19937 random_{1};
  std::deque<std::vector<float>> memory_;
};

}  // namespace hiss::bench
