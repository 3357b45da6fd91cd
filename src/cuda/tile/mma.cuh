// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_fp16.h>

#include <cstdint>

// Products of 16-bit tiles on the matrix units (sm_80 and later), and float32 operands as sums of
// two halves.
namespace hiss::cuda {

// Four 8x8 tiles from shared memory; lane l gives the address of row l % 8 of tile l / 8.
__device__ __forceinline__ void load_tiles(uint32_t (&r)[4], const __half* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}
__device__ __forceinline__ void load_tiles_transposed(uint32_t (&r)[4], const __half* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

// Tiles without padding: 16-byte piece `piece` of row `row` lies where the pieces of eight
// neighbouring rows meet in no bank. In pieces, of rows of at least eight.
__device__ __forceinline__ int swizzled(int row, int piece, int pieces_in_row) {
  return row * pieces_in_row + (piece ^ (row & 7));
}

// acc (16 x 8) += a (16 x 16) b (16 x 8)
__device__ __forceinline__ void mma(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Operands in one or two parts make one or three products; that of two second parts is below
// rounding. f(part of a, part of b) for each, the small ones first. Around the loop over
// independent accumulators, so that a product does not wait for the one before it.
template <int kParts, class F>
__device__ __forceinline__ void for_each_product(F&& f) {
  if constexpr (kParts == 2) f(1, 0), f(0, 1);
  f(0, 0);
}

// Two floats as halves: [0] rounded, [1] what is left.
template <int kParts>
__device__ __forceinline__ void split(float v0, float v1, uint32_t (&parts)[kParts]) {
  const __half2 high = __floats2half2_rn(v0, v1);
  parts[0] = *reinterpret_cast<const uint32_t*>(&high);
  if constexpr (kParts == 2) {
    const float2 back = __half22float2(high);
    const __half2 low = __floats2half2_rn(v0 - back.x, v1 - back.y);
    parts[1] = *reinterpret_cast<const uint32_t*>(&low);
  }
}

// Halves hold 2^-24 ... 2^15. The exponent e for which 2^e brings the largest of some finite
// magnitudes to 2^14 ... 2^15: two halves then lose 2^-22 of a value or 2^-39 of the largest.
__device__ __forceinline__ int exponent_for(float largest) {
  if (!(largest > 0.0f)) return 0;
  const int exponent = static_cast<int>(__float_as_uint(largest) >> 23) - 127;
  return min(14 - exponent, 120);
}

// 2^e, of e cut to what a normal float can hold.
__device__ __forceinline__ float power_of_two(int e) {
  return __uint_as_float(static_cast<uint32_t>(max(min(e, 127), -126) + 127) << 23);
}

// Magnitude, 0 for NaN and Inf.
__device__ __forceinline__ float finite_magnitude(float v) {
  v = fabsf(v);
  return v <= 3.402823466e38f ? v : 0.0f;
}

__device__ __forceinline__ float warp_max(float v) {
  for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
  return v;
}

}  // namespace hiss::cuda
