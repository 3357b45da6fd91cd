// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "host.h"
#include "log.h"
#include "options.h"

namespace hiss::ggml {

// An accelerator device that works in the CPU's memory: the way in where ggml shows no list to
// join. It costs ggml two graph splits a node and runs on threads of its own.
Device* make_accel_device(const Host& host, const Options& options, Log& log, Registry* registry);

}  // namespace hiss::ggml
