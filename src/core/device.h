// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>

#include "hiss/machine.h"
#include "hiss/status.h"

// The CUDA device as the layers below src/cuda see it. src/cuda/device.cc has the definitions, or,
// in a build without CUDA, src/core/no_device.cc.
namespace hiss {

// Fills in what is known of the current CUDA device. No driver or no device: changes nothing.
void find_device(Machine& machine);

// Device memory, aligned to 256 bytes. kUnsupported in a build without CUDA, kResourceExhausted if
// there is not so much. Freeing it waits for the device.
Result<std::shared_ptr<std::byte>> device_memory(size_t bytes);

}  // namespace hiss
