// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/ssd_chunk_scan/halves_kernel.cuh"

namespace hiss::cuda::ssd {
template cudaError_t launch_halves<128>(const HalvesScan&, cudaStream_t);
}  // namespace hiss::cuda::ssd
