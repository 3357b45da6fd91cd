// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "hiss/arena.h"
#include "models/nn/map.h"

namespace hiss::models {

// Cuts a block of memory into arrays. Without memory it only adds up, so that one function both
// tells how much it needs and lays it out.
class Carver {
 public:
  explicit Carver(std::byte* memory = nullptr) : memory_(memory) {}

  template <class T>
  T* take(int64_t n) {
    std::byte* p = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += Arena::bytes_for<T>(n);
    return reinterpret_cast<T*>(p);
  }
  Map map(int64_t rows, int64_t cols, int64_t channels) {
    return {take<float>(rows * cols * channels), rows, cols, channels, channels};
  }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  size_t bytes_ = 0;
};

}  // namespace hiss::models
