// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// Copies from device to shared memory that a thread does not wait for until it wants the data.
namespace hiss::cuda {

// 8 or 16 bytes, both addresses aligned to as many.
template <int kBytes>
__device__ __forceinline__ void copy_async(const void* from, void* shared) {
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(kBytes)
                 : "memory");
}
// What this thread has started since the last commit becomes one group.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;"); }
// Waits until at most kGroups of this thread's groups are under way; its older data can be read.
template <int kGroups>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

}  // namespace hiss::cuda
