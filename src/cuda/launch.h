// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "hiss/kernel.h"
#include "hiss/status.h"

// What the host halves of the CUDA kernels share.
namespace hiss::cuda {

inline cudaStream_t stream_of(const Launch& launch) {
  return static_cast<cudaStream_t>(launch.stream);
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// kInternal "<kernel>: device error: ..." unless this is success.
inline Status device_status(std::string_view kernel, cudaError_t error) {
  if (error == cudaSuccess) return {};
  return Internal(std::string(kernel) + ": device error: " + cudaGetErrorString(error));
}

// Whether the launch just made was accepted. Says nothing of how it ends: nothing waits for it.
inline Status launched(std::string_view kernel) {
  return device_status(kernel, cudaGetLastError());
}

// Lets a kernel ask for more than 48 KiB of dynamic shared memory.
template <class Function>
Status allow_shared(std::string_view kernel, Function* function, int64_t bytes) {
  return device_status(kernel, cudaFuncSetAttribute(reinterpret_cast<const void*>(function),
                                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    static_cast<int>(bytes)));
}

}  // namespace hiss::cuda
