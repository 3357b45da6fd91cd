// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "cuda/ssd_chunk_scan/chunked_plan.cuh"
#include "hiss/status.h"

namespace hiss::cuda::ssd_chunk_scan {

inline constexpr std::string_view kChunkedName = "ssd_chunk_scan/cuda.sm80.chunked";

// A run of the chunked kernels.
struct Chunked {
  Scan scan;
  Cut cut;
  Workspace workspace;
  int64_t strips, walks;  // blocks of `prepare` and of `walk`
  bool in_fours;          // x, z and y are read and written four rows at a time
  bool states_in_fours;   // as are states
  cudaStream_t stream;
};

// kParts halves for an operand, dstate padded to N.
template <int N, int kParts>
Status launch_chunked(const Chunked& chunked);

}  // namespace hiss::cuda::ssd_chunk_scan
