// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "core/device.h"

#include <cuda_runtime_api.h>

#include <string>

namespace hiss {

void find_device(Machine& machine) {
  int device = 0;
  cudaDeviceProp properties;
  // Without driver or device these fail; the error they leave behind is nobody's.
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return;
  }
  machine.cuda_sm = 10 * properties.major + properties.minor;
  machine.num_sms = properties.multiProcessorCount;
  machine.shared_bytes_per_sm = static_cast<int64_t>(properties.sharedMemPerMultiprocessor);
  machine.device_l2_bytes = properties.l2CacheSize;
  machine.device_name = properties.name;
}

Result<std::shared_ptr<std::byte>> device_memory(size_t bytes) {
  void* memory = nullptr;
  if (const cudaError_t error = cudaMalloc(&memory, bytes); error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return ResourceExhausted("no device memory for " + std::to_string(bytes) +
                             " bytes of workspace: " + cudaGetErrorString(error));
  }
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                    [](std::byte* p) { cudaFree(p); });
}

}  // namespace hiss
