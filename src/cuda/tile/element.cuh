// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <utility>

#include "hiss/tensor.h"

// Elements of F32, F16 and BF16 tensors as float, singly and in vectors of up to 16 bytes.
namespace hiss::cuda {

__device__ __forceinline__ float to_float(float v) { return v; }
__device__ __forceinline__ float to_float(__half v) { return __half2float(v); }
__device__ __forceinline__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }

// Rounds to nearest even.
template <class T>
__device__ __forceinline__ T from_float(float v) {
  if constexpr (sizeof(T) == sizeof(float))
    return v;
  else if constexpr (std::is_same_v<T, __half>)
    return __float2half_rn(v);
  else
    return __float2bfloat16_rn(v);
}

// kCount elements as they lie in memory. 4, 8 or 16 bytes are moved by one instruction.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  static_assert(sizeof(T) * kCount <= 16);
  T element[kCount];
};

// Elements in one 16-byte access.
template <class T>
inline constexpr int kWidest = 16 / static_cast<int>(sizeof(T));

// Memory aligned to the pack.
template <int kCount, class T>
__device__ __forceinline__ void load_pack(const T* from, float (&to)[kCount]) {
  const auto pack = *reinterpret_cast<const Pack<T, kCount>*>(from);
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = to_float(pack.element[i]);
}
template <int kCount, class T>
__device__ __forceinline__ void store_pack(const float (&from)[kCount], T* to) {
  Pack<T, kCount> pack;
  if constexpr (sizeof(T) == 2 && kCount % 2 == 0) {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      if constexpr (std::is_same_v<T, __half>) {
        const __half2 two = __floats2half2_rn(from[i], from[i + 1]);
        pack.element[i] = two.x, pack.element[i + 1] = two.y;
      } else {
        const __nv_bfloat162 two = __floats2bfloat162_rn(from[i], from[i + 1]);
        pack.element[i] = two.x, pack.element[i + 1] = two.y;
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) pack.element[i] = from_float<T>(from[i]);
  }
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

// Host: calls f.template operator()<T>() with the element type of a tensor's F32, F16 or BF16.
template <class F>
decltype(auto) with_element(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF16:
      return std::forward<F>(f).template operator()<__half>();
    case DType::kBF16:
      return std::forward<F>(f).template operator()<__nv_bfloat16>();
    default:
      return std::forward<F>(f).template operator()<float>();
  }
}

// Host: whether `view` may be accessed in packs of `bytes` along its dense axis: address and every
// other stride are multiples of it.
inline bool aligned_rows(const ConstTensorView& view, int dense_axis, int64_t bytes) {
  if (reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(bytes) != 0) return false;
  for (int axis = 0; axis < view.rank; ++axis)
    if (axis != dense_axis && view.shape[axis] > 1 &&
        view.stride[axis] * size_of(view.dtype) % bytes != 0)
      return false;
  return true;
}

}  // namespace hiss::cuda
