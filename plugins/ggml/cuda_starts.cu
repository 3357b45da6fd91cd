// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "cuda_starts.h"

namespace hiss::ggml {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocksARow = 1024;

// Vector: float4 where rows are cut into whole ones, else float. A block's y counts sequences.
template <class Vector>
__global__ void gather(Starts s) {
  constexpr int64_t kWidth = sizeof(Vector) / sizeof(float);
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  if (blockIdx.y == 0)
    for (int64_t i = first; i < s.tokens; i += step) s.token[i] = s.first_token + i;
  for (int64_t q = blockIdx.y; q < s.sequences; q += gridDim.y) {
    const int64_t row = s.row_of[q * s.index_stride];
    const bool inside = row >= 0 && row < s.rows;
    const auto* from = reinterpret_cast<const Vector*>(s.cache + (inside ? row : 0) * s.row_stride);
    auto* to = reinterpret_cast<Vector*>(s.starts + q * s.row_floats);
    for (int64_t i = first; i < s.row_floats / kWidth; i += step)
      to[i] = inside ? from[i] : Vector{};
  }
}

template <class Vector>
void launch(const Starts& s, cudaStream_t stream) {
  const int64_t vectors = s.row_floats / static_cast<int64_t>(sizeof(Vector) / sizeof(float));
  const int64_t per_block = kThreads * int64_t{2};
  const auto blocks =
      std::clamp((vectors + per_block - 1) / per_block, int64_t{1}, kMostBlocksARow);
  const auto rows = std::clamp(s.sequences, int64_t{1}, int64_t{65535});
  gather<Vector>
      <<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(rows)), kThreads, 0, stream>>>(
          s);
}

bool whole(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % sizeof(float4) == 0;
}

}  // namespace

Status gather_starts(const Starts& s, void* stream) {
  const bool vectors =
      s.row_floats % 4 == 0 && s.row_stride % 4 == 0 && whole(s.cache) && whole(s.starts);
  (vectors ? launch<float4> : launch<float>)(s, static_cast<cudaStream_t>(stream));
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return {};
  return Internal(std::string("gathering states: device error: ") + cudaGetErrorString(error));
}

}  // namespace hiss::ggml
