// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper.h"

// What host and device say to each other where states are bf16: the scan's pointers to states are
// to elements of that type.
namespace hiss::cuda::ssd {

// Up to this dstate the state is float32 while a block has it.
constexpr int64_t kAccumulatedDstate = 128;

// Starts the kernels for dstate up to kN.
template <int kN>
cudaError_t launch_bf16_state(const HopperScan& scan, DType dtype, bool gate, cudaStream_t stream);

}  // namespace hiss::cuda::ssd
