// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>
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

// Element i of a word that has two, or the one that it is.
template <class T>
__device__ __forceinline__ float element_of(uint32_t word, int i) {
  if constexpr (sizeof(T) == 4)
    return __uint_as_float(word);
  else if constexpr (std::is_same_v<T, __half>)
    return __half2float(__ushort_as_half(static_cast<uint16_t>(i == 0 ? word : word >> 16)));
  else
    return __uint_as_float(i == 0 ? word << 16 : word & 0xffff0000u);
}

// The bits of an element, rounded to nearest even.
template <class T>
__device__ __forceinline__ uint32_t bits_of(float value) {
  if constexpr (sizeof(T) == 4)
    return __float_as_uint(value);
  else if constexpr (std::is_same_v<T, __half>)
    return __half_as_ushort(__float2half_rn(value));
  else
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}
// Two elements in a word.
template <class T>
__device__ __forceinline__ uint32_t word_of(float low, float high) {
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 two = __floats2half2_rn(low, high);
    return __half_as_ushort(two.x) | static_cast<uint32_t>(__half_as_ushort(two.y)) << 16;
  } else {
    const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
    return __bfloat16_as_ushort(two.x) | static_cast<uint32_t>(__bfloat16_as_ushort(two.y)) << 16;
  }
}

// kCount elements, 4, 8 or 16 bytes, or a single one, on their way between memory and arithmetic,
// in words: as members of an array elements of 16 bits would take a register each. Memory is
// aligned to as many bytes.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Raw {
  using Word = std::conditional_t<sizeof(T) * kCount % 4 == 0, uint32_t, uint16_t>;
  static constexpr int kInWord = static_cast<int>(sizeof(Word) / sizeof(T));
  static constexpr int kWords = kCount / kInWord;
  static_assert(kWords == 1 || kWords == 2 || kWords == 4);

  // Accesses are by the built-in types: the assignment of a struct may end as one store for each
  // member.
  __device__ __forceinline__ static Raw at(const T* from) {
    Raw raw;
    if constexpr (kWords == 4) {
      const uint4 words = *reinterpret_cast<const uint4*>(from);
      raw.word[0] = words.x, raw.word[1] = words.y, raw.word[2] = words.z, raw.word[3] = words.w;
    } else if constexpr (kWords == 2) {
      const uint2 words = *reinterpret_cast<const uint2*>(from);
      raw.word[0] = words.x, raw.word[1] = words.y;
    } else {
      raw.word[0] = *reinterpret_cast<const Word*>(from);
    }
    return raw;
  }
  __device__ __forceinline__ static Raw of(const float (&values)[kCount]) {
    Raw raw;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      if constexpr (kInWord == 2)
        raw.word[i] = word_of<T>(values[2 * i], values[2 * i + 1]);
      else
        raw.word[i] = static_cast<Word>(bits_of<T>(values[i]));
    }
    return raw;
  }
  __device__ __forceinline__ void store(T* to) const {
    if constexpr (kWords > 1) {
      // What is stored to device memory as a vector the compiler takes apart in large kernels.
      if (!__isShared(to)) return store_global(to);
      if constexpr (kWords == 4)
        *reinterpret_cast<uint4*>(to) = make_uint4(word[0], word[1], word[2], word[3]);
      else
        *reinterpret_cast<uint2*>(to) = make_uint2(word[0], word[1]);
    } else {
      *reinterpret_cast<Word*>(to) = word[0];
    }
  }
  __device__ __forceinline__ float operator[](int i) const {
    return element_of<T>(word[i / kInWord], i % kInWord);
  }
  // In a vector of zeros; i is known when this is compiled.
  __device__ __forceinline__ void set(int i, float value) {
    word[i / kInWord] |= static_cast<Word>(bits_of<T>(value) << i % kInWord * 16);
  }

  Word word[kWords];

 private:
  __device__ __forceinline__ void store_global(T* to) const {
    const size_t address = __cvta_generic_to_global(to);
    if constexpr (kWords == 4)
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(word[0]),
                   "r"(word[1]), "r"(word[2]), "r"(word[3])
                   : "memory");
    else
      asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(word[0]), "r"(word[1])
                   : "memory");
  }
};

template <int kCount, class T>
__device__ __forceinline__ void load_pack(const T* from, float (&to)[kCount]) {
  const auto raw = Raw<T, kCount>::at(from);
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = raw[i];
}
template <int kCount, class T>
__device__ __forceinline__ void store_pack(const float (&from)[kCount], T* to) {
  Raw<T, kCount>::of(from).store(to);
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
