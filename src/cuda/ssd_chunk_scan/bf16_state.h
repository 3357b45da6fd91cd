// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_bf16.h>

#include "cuda/ssd_chunk_scan/hopper.h"

// What host and device say to each other where the state is kept in bf16.
namespace hiss::cuda::ssd {

struct Bf16StateScan {
  HopperScan base;  // without states; their strides are there
  const __nv_bfloat16* initial;
  __nv_bfloat16 *final, *checkpoints;
};

// Starts the kernels for dstate up to kN.
template <int kN>
cudaError_t launch_bf16_state(const Bf16StateScan& scan, DType dtype, bool gate,
                              cudaStream_t stream);

}  // namespace hiss::cuda::ssd
