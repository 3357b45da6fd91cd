// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/float16.h"
#include "hiss/tensor.h"

namespace hiss::cpu {

// One sequence of a (batch, seqlen, dim) tensor: element (t, c) is
// data[t * token_stride + c * channel_stride].
template <class Void>
struct BasicPlane {
  Void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t token_stride = 0, channel_stride = 0;
};
using Plane = BasicPlane<const void>;
using MutablePlane = BasicPlane<void>;

// Element `offset` of an array of F32 or 16-bit elements.
template <class Void>
Void* advance(Void* data, DType dtype, int64_t offset) {
  using Byte = typename BasicTensorView<Void>::template Element<char>;
  return static_cast<Byte*>(data) + offset * size_of(dtype);
}

// The plane from element (t, c) on.
template <class Void>
BasicPlane<Void> plane_at(BasicPlane<Void> plane, int64_t t, int64_t c) {
  if (plane.data != nullptr)
    plane.data =
        advance(plane.data, plane.dtype, t * plane.token_stride + c * plane.channel_stride);
  return plane;
}

inline float float_at(const Plane& plane, int64_t offset) {
  if (plane.dtype == DType::kF32) return static_cast<const float*>(plane.data)[offset];
  const uint16_t bits = static_cast<const uint16_t*>(plane.data)[offset];
  return plane.dtype == DType::kBF16 ? float_from_bf16(bits) : float_from_f16(bits);
}

inline void put_float(const MutablePlane& plane, int64_t offset, float value) {
  if (plane.dtype == DType::kF32)
    static_cast<float*>(plane.data)[offset] = value;
  else
    static_cast<uint16_t*>(plane.data)[offset] =
        plane.dtype == DType::kBF16 ? bf16_from_float(value) : f16_from_float(value);
}

// Tokens from `begin` on of batch row `row`; an absent tensor gives a plane without data.
template <class Void>
BasicPlane<Void> plane_of(const BasicTensorView<Void>& v, int64_t row, int64_t begin) {
  if (!v.present()) return {};
  return {advance(v.data, v.dtype, row * v.stride[0] + begin * v.stride[1]), v.dtype, v.stride[1],
          v.stride[2]};
}

}  // namespace hiss::cpu
