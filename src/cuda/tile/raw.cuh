// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <type_traits>

#include "cuda/tile/element.cuh"

// Elements on their way between memory and arithmetic, in words: as members of an array elements of
// 16 bits would take a register each, and their store may end as one instruction for each.
namespace hiss::cuda {

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

// kCount elements, 4, 8 or 16 bytes, or a single one. Memory is aligned to as many bytes.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Raw {
  using Word = std::conditional_t<sizeof(T) * kCount % 4 == 0, uint32_t, uint16_t>;
  static constexpr int kInWord = static_cast<int>(sizeof(Word) / sizeof(T));
  static constexpr int kWords = kCount / kInWord;
  static_assert(kWords == 1 || kWords == 2 || kWords == 4);

  __device__ __forceinline__ static Raw at(const T* from) {
    return *reinterpret_cast<const Raw*>(from);
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
  // By the built-in types: the assignment of a struct may end as one store for each member.
  __device__ __forceinline__ void store(T* to) const {
    if constexpr (kWords == 4)
      *reinterpret_cast<uint4*>(to) = make_uint4(word[0], word[1], word[2], word[3]);
    else if constexpr (kWords == 2)
      *reinterpret_cast<uint2*>(to) = make_uint2(word[0], word[1]);
    else
      *reinterpret_cast<Word*>(to) = word[0];
  }
  __device__ __forceinline__ float operator[](int i) const {
    return element_of<T>(word[i / kInWord], i % kInWord);
  }
  // In a vector of zeros; i is known when this is compiled.
  __device__ __forceinline__ void set(int i, float value) {
    word[i / kInWord] |= static_cast<Word>(bits_of<T>(value) << i % kInWord * 16);
  }

  Word word[kWords];
};

}  // namespace hiss::cuda
