// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hiss/status.h"

namespace hiss {

// Memory taken once and handed out from the front, 64-byte aligned. Not thread-safe.
class Arena {
 public:
  static constexpr size_t kAlignment = 64;
  // kResourceExhausted when the system has not that much.
  static Result<Arena> create(size_t bytes);
  // What n elements of T take, padding included: for adding up a create().
  template <class T>
  static constexpr size_t bytes_for(int64_t n) {
    return (static_cast<size_t>(n) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }
  // n elements, not initialised. Asking for more than was taken is our mistake: asserts.
  template <class T>
  std::span<T> take(int64_t n) {
    return {reinterpret_cast<T*>(take_bytes(bytes_for<T>(n))), static_cast<size_t>(n)};
  }
  // Everything handed out so far is free again.
  void reset() { used_ = 0; }
  size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::byte* take_bytes(size_t bytes);
  std::unique_ptr<std::byte[], Free> memory_;
  size_t capacity_ = 0, used_ = 0;
};

}  // namespace hiss
