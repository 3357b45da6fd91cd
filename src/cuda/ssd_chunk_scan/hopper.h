// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/ssd_chunk_scan/hopper_cut.h"
#include "cuda/tile/sequences.cuh"
#include "hiss/ops/ssd_chunk_scan.h"

// What host and device say to each other.
namespace hiss::cuda::ssd {

// The kernel's argument: tensors as maps for bulk copies, and the rest as pointers and strides.
struct HopperScan {
  CUtensorMap x, B, C, z, y;
  const void* dt;
  int64_t dt_stride[3];
  const float *A, *D, *dt_bias;
  int64_t A_stride, D_stride[2], dt_bias_stride;
  void* y_data;
  int64_t y_stride[2];  // batch, seqlen
  const float* initial;
  float *final, *checkpoints;
  int64_t initial_stride[3], final_stride[3], checkpoint_stride[4];
  Sequences sequences;
  const int64_t* checkpoint_tokens;
  int64_t checkpoint_token_stride, ncheckpoints;
  float* exchange;  // states between segments
  float dt_min, dt_max;
  int nheads, headdim, dstate, ngroups;
  int segments;   // of a unit, at most
  int64_t units;  // blocks' rows of each sequence
  // Where units are not cut into equal segments, one of these: ranges, and blocks that begin within
  // a unit walk the tokens before, for their state; or tails, and states are handed on.
  Ranges ranges;
  Tails tails;
  int blocks_per_group;
  bool dt_is_f32, softplus, a_is_log;
};

constexpr int64_t chunks_of(const HopperScan& scan) {
  return (scan.sequences.seqlen + kChunk - 1) / kChunk;
}

// Floats that one warpgroup hands to later segments: a state of 64 rows and its decay.
constexpr int64_t exchange_floats(int64_t padded_dstate) { return (64 * padded_dstate) + 512; }

// Long states leave no registers for tiles where heads meet.
constexpr bool fits(int64_t padded_dstate, int64_t headdim) {
  return padded_dstate <= 128 || headdim % 64 == 0;
}

// Starts the kernel for dstate up to kN with its state in registers.
template <int kN>
cudaError_t launch_hopper(const HopperScan& scan, DType dtype, bool gate, cudaStream_t stream);

}  // namespace hiss::cuda::ssd
