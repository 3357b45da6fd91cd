// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/ssd_chunk_scan/bf16_state_kernel.cuh"

namespace hiss::cuda::ssd {
template cudaError_t launch_bf16_state<256>(const HopperScan&, DType, bool, cudaStream_t);
}  // namespace hiss::cuda::ssd
