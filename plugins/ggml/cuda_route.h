// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host.h"
#include "log.h"
#include "options.h"

// The way to the nodes whose tensors lie in CUDA memory. In a build without CUDA, no_cuda.cc.
namespace hiss::ggml {

struct CudaRouteTaken {
  std::string text;              // for the log: "hook of 2 devices", or why there is none
  std::vector<Device*> devices;  // of cuda=device, to be registered
};

// Takes the way that options.cuda names, as far as this ggml and this computer have it.
CudaRouteTaken take_cuda_route(const Host& host, const Options& options, Log& log,
                               Registry* registry);

// For comparisons: lets ggml's CUDA devices be as they were, or not. False: none has been hooked.
bool set_cuda_hook_enabled(bool enabled);
int64_t nodes_computed_in_cuda_hook();

}  // namespace hiss::ggml
