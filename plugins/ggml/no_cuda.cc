// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_route.h"

namespace hiss::ggml {

CudaRouteTaken take_cuda_route(const Host&, const Options&, Log&, Registry*) {
  return {"not compiled in", {}};
}

}  // namespace hiss::ggml
