// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "device_tools.h"

namespace hiss::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 132 * 16;

struct View {
  void* data;
  DType dtype;
  int rank;
  int64_t shape[kMaxRank], stride[kMaxRank], elements;

  explicit View(const ConstTensorView& v)
      : data(const_cast<void*>(v.data)), dtype(v.dtype), rank(v.rank), elements(v.elements()) {
    std::copy(v.shape.begin(), v.shape.end(), shape);
    std::copy(v.stride.begin(), v.stride.end(), stride);
  }
  // Of the i-th element in row-major order.
  __device__ int64_t offset(int64_t i) const {
    int64_t at = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      at += i % shape[axis] * stride[axis];
      i /= shape[axis];
    }
    return at;
  }
};

// SplitMix64's finaliser.
__device__ uint64_t mix(uint64_t v) {
  v += 0x9e3779b97f4a7c15u;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return v ^ (v >> 31);
}

__global__ void fill_elements(const View view, Fill fill, uint64_t seed) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < view.elements;
       i += int64_t{kThreads} * gridDim.x) {
    const uint64_t bits = mix(mix(seed) + static_cast<uint64_t>(i));
    const float u = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f;
    const float v = static_cast<float>((bits >> 8) & 0xffffff) * 0x1p-24f;
    const auto a = static_cast<float>(fill.a), b = static_cast<float>(fill.b);
    const float value = fill.kind == Fill::kNormal
                            ? a + b * sqrtf(-2.0f * logf(u)) * cospif(2.0f * v)
                            : a + (b - a) * u;
    const int64_t at = view.offset(i);
    if (view.dtype == DType::kF32)
      static_cast<float*>(view.data)[at] = value;
    else if (view.dtype == DType::kF16)
      static_cast<__half*>(view.data)[at] = __float2half_rn(value);
    else
      static_cast<__nv_bfloat16*>(view.data)[at] = __float2bfloat16_rn(value);
  }
}

__global__ void gather_elements(const View view, float* to) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < view.elements;
       i += int64_t{kThreads} * gridDim.x) {
    const int64_t at = view.offset(i);
    if (view.dtype == DType::kF32)
      to[i] = static_cast<const float*>(view.data)[at];
    else if (view.dtype == DType::kF16)
      to[i] = __half2float(static_cast<const __half*>(view.data)[at]);
    else
      to[i] = __bfloat162float(static_cast<const __nv_bfloat16*>(view.data)[at]);
  }
}

__global__ void count_elements(const View a, const View b, unsigned long long* count) {
  unsigned long long found = 0;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < a.elements;
       i += int64_t{kThreads} * gridDim.x) {
    const int64_t at = a.offset(i), bt = b.offset(i);
    found +=
        size_of(a.dtype) == 4
            ? static_cast<const uint32_t*>(a.data)[at] != static_cast<const uint32_t*>(b.data)[bt]
            : static_cast<const uint16_t*>(a.data)[at] != static_cast<const uint16_t*>(b.data)[bt];
  }
  if (found != 0) atomicAdd(count, found);
}

constexpr int kCopyThreads = 512;
__global__ void copy_vectors(const int4* from, int4* to, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kCopyThreads + threadIdx.x;
  if (i < count) to[i] = from[i];
}

int64_t counted(auto&& launch) {
  unsigned long long* count = nullptr;
  unsigned long long result = 0;
  must(cudaMalloc(&count, sizeof(*count)), "memory");
  must(cudaMemset(count, 0, sizeof(*count)), "memset");
  launch(count);
  must(cudaGetLastError(), "count");
  must(cudaMemcpy(&result, count, sizeof(result), cudaMemcpyDeviceToHost), "count");
  must(cudaFree(count), "free");
  return static_cast<int64_t>(result);
}

}  // namespace

void give_up(const char* what) {
  std::fprintf(stderr, "hiss_gpu_check: %s\n", what);
  std::exit(2);
}

void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "hiss_gpu_check: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

void fill_random(const TensorView& view, Fill fill, uint64_t seed) {
  if (view.elements() == 0) return;
  fill_elements<<<kBlocks, kThreads>>>(View(view), fill, seed);
  must(cudaGetLastError(), "fill");
}

void poison(void* memory, int64_t bytes) {
  must(cudaMemset(memory, 0xff, static_cast<size_t>(bytes)), "memset");
}

std::vector<float> gather(const ConstTensorView& view) {
  std::vector<float> result(static_cast<size_t>(view.elements()));
  if (result.empty()) return result;
  float* dense = nullptr;
  must(cudaMalloc(&dense, result.size() * sizeof(float)), "memory");
  gather_elements<<<kBlocks, kThreads>>>(View(view), dense);
  must(cudaGetLastError(), "gather");
  must(cudaMemcpy(result.data(), dense, result.size() * sizeof(float), cudaMemcpyDeviceToHost),
       "gather");
  must(cudaFree(dense), "free");
  return result;
}

int64_t count_differing(const ConstTensorView& a, const ConstTensorView& b) {
  if (a.elements() == 0) return 0;
  return counted([&](unsigned long long* count) {
    count_elements<<<kBlocks, kThreads>>>(View(a), View(b), count);
  });
}

void copy(const void* from, void* to, int64_t bytes, cudaStream_t stream) {
  const int64_t count = bytes / 16;
  copy_vectors<<<static_cast<unsigned>((count + kCopyThreads - 1) / kCopyThreads), kCopyThreads, 0,
                 stream>>>(static_cast<const int4*>(from), static_cast<int4*>(to), count);
  must(cudaGetLastError(), "copy");
}

}  // namespace hiss::bench
