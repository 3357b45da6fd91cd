// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "ggml_abi.h"
#include "hiss/machine.h"
#include "host.h"
#include "options.h"

namespace hiss::ggml {

// Whether hiss computes a node whose tensors lie in CUDA memory. `ggml_can`: ggml's own CUDA device
// accepts it. A node it declines would go to the CPU with its state copied both ways, so hiss takes
// every one that it has a kernel for, single tokens too. Of those both can do it takes the scans
// that options.cuda_min_tokens says, or those that are faster. Convolutions of width 3 and 4 that
// both can do stay with ggml, which fuses bias and SiLU into them. Pure: reads no data.
bool takes_on_cuda(const Host& host, const Options& options, const Tensor* node, bool ggml_can,
                   const Machine& machine);

}  // namespace hiss::ggml
