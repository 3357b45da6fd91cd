// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/ssd_chunk_scan/hopper_launch.cuh"

namespace hiss::cuda::ssd {
template cudaError_t launch_hopper<256>(const HopperScan&, DType, bool, cudaStream_t);
}  // namespace hiss::cuda::ssd
