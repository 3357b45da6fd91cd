// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "accel_device.h"

namespace hiss::ggml {

// The memory of a CUDA device of ggml's, for the nodes which that device declines; those it accepts
// it gets from ggml's scheduler before an accelerator is asked. A runner waits for the device
// before it begins and until it is done: a scheduler's streams are not in sight. `ordinal`: CUDA's
// number of that device.
std::unique_ptr<AccelMemory> cuda_memory(const Host& host, const Options& options, Log& log,
                                         Device* cuda, int ordinal);

}  // namespace hiss::ggml
