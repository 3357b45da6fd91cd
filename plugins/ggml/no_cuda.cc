// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_route.h"

namespace hiss::ggml {

CudaRouteTaken take_cuda_route(const Host&, const Options&, Log&, Registry*) {
  return {"not compiled in", {}};
}

bool set_cuda_hook_enabled(bool) { return false; }
int64_t nodes_computed_in_cuda_hook() { return 0; }

}  // namespace hiss::ggml
