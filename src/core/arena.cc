// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/arena.h"

#include <cassert>
#include <cstdlib>
#include <new>

namespace hiss {

void Arena::Free::operator()(std::byte* p) const { std::free(p); }

Result<Arena> Arena::create(size_t bytes) {
  Arena arena;
  arena.capacity_ = bytes_for<std::byte>(static_cast<int64_t>(bytes));
  if (arena.capacity_ == 0) return arena;
  arena.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, arena.capacity_)));
  if (arena.memory_ == nullptr)
    return ResourceExhausted("no memory for " + std::to_string(bytes) + " bytes of workspace");
  return arena;
}

std::byte* Arena::take_bytes(size_t bytes) {
  assert(bytes <= capacity_ - used_ && "arena: more taken than booked");
  std::byte* p = memory_.get() + used_;
  used_ += bytes;
  return p;
}

}  // namespace hiss
