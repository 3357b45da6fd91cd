// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "core/device.h"

namespace hiss {

void find_device(Machine&) {}

Result<std::shared_ptr<std::byte>> device_memory(size_t) {
  return Unsupported("this build of the library has no CUDA kernels");
}

}  // namespace hiss
