// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hiss/machine.h"
#include "host.h"
#include "log.h"
#include "options.h"

namespace hiss::ggml {

// Puts hiss into a CUDA device of ggml: from now on the device also accepts the nodes that
// takes_on_cuda() names, and its backends compute graphs in pieces, ggml's own and hiss's, ordered
// by events on the device: nothing waits on the host, and ggml's scheduler sees one device. A
// backend that is laid out otherwise than expected is left alone, with one line. To be called once
// a device.
void hook_cuda_device(const Host& host, const Options& options, Log& log, Device* device,
                      const Machine& machine = this_machine());

}  // namespace hiss::ggml
