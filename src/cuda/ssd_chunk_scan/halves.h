// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/chunked_plan.cuh"
#include "cuda/ssd_chunk_scan/hopper.h"

// What host and device say to each other where float32 operands are two halves.
namespace hiss::cuda::ssd {

struct HalvesScan {
  HopperScan base;                // of its maps x and y are used
  ssd_chunk_scan::Scan scan;      // the same tensors with their strides
  ssd_chunk_scan::Chunks chunks;  // B, C and C B^T, as `prepare` makes them
  int64_t chunk_strips;           // blocks of `prepare`
};

// Starts the kernels for dstate up to kN.
template <int kN>
cudaError_t launch_halves(const HalvesScan& scan, cudaStream_t stream);

}  // namespace hiss::cuda::ssd
