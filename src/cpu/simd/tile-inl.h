// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Moves tiles of a (tokens, channels) plane between memory of any strides and 16- or 32-bit type,
// and dense F32 rows of one vector of channels a token.

#if defined(HISS_CPU_SIMD_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SIMD_TILE_INL_H
#undef HISS_CPU_SIMD_TILE_INL_H
#else
#define HISS_CPU_SIMD_TILE_INL_H
#endif

#include "cpu/simd/elements-inl.h"
#include "cpu/simd/plane.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Transposes each 4x4 block of four rows of a tile (a block: the same 128-bit part of each row).
template <class D, class V = hn::Vec<D>>
HWY_INLINE void transpose_rows(D d, V r0, V r1, V r2, V r3, float* rows) {
  constexpr int64_t kLanes = HWY_LANES(float);
  const hn::Repartition<double, D> dd;
  const auto a = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));
  const auto b = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
  const auto e = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
  const auto f = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
  hn::Store(hn::BitCast(d, hn::InterleaveLower(dd, a, b)), d, rows);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(dd, a, b)), d, rows + kLanes);
  hn::Store(hn::BitCast(d, hn::InterleaveLower(dd, e, f)), d, rows + 2 * kLanes);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(dd, e, f)), d, rows + 3 * kLanes);
}

// Four floats from each of p, p + step ... in one vector.
template <class D>
HWY_INLINE hn::Vec<D> load_parts(D d, const float* p, int64_t step) {
  if constexpr (hn::MaxLanes(d) == 4) {
    (void)step;
    return hn::LoadU(d, p);
  } else {
    const hn::Half<D> half;
    constexpr int64_t kParts = hn::MaxLanes(half) / 4;
    return hn::Combine(d, load_parts(half, p + kParts * step, step), load_parts(half, p, step));
  }
}

// Rows t of a tile are at data + t * stride.
struct Rows {
  const float* data;
  int64_t stride;
};

// A full tile of channels-first memory: channel c is a row of tokens at p + c * stride.
template <class D>
HWY_INLINE void load_transposed(D d, const float* p, int64_t stride, int64_t tokens,
                                float* buffer) {
  constexpr int64_t kLanes = HWY_LANES(float);
  int64_t i = 0;
  for (; i + 4 <= tokens; i += 4) {
    // Channel 4 j + r goes to part j of row r; transposed, part j of row k has channels 4 j ... 4 j
    // + 3 of token k.
    const auto row = [&](int64_t r)
                         HWY_ATTR { return load_parts(d, p + r * stride + i, 4 * stride); };
    transpose_rows(d, row(0), row(1), row(2), row(3), buffer + i * kLanes);
  }
  for (; i < tokens; ++i)
    for (int64_t lane = 0; lane < kLanes; ++lane) buffer[i * kLanes + lane] = p[lane * stride + i];
}

template <class D>
HWY_INLINE void store_transposed(D d, float* buffer, int64_t tokens, float* p, int64_t stride) {
  constexpr int64_t kLanes = HWY_LANES(float);
  const hn::FixedTag<float, 4> d4;
  int64_t i = 0;
  for (; i + 4 <= tokens; i += 4) {
    float* rows = buffer + i * kLanes;
    const auto row = [&](int64_t r) HWY_ATTR { return hn::Load(d, rows + r * kLanes); };
    transpose_rows(d, row(0), row(1), row(2), row(3), rows);
    for (int64_t lane = 0; lane < kLanes; ++lane)
      hn::StoreU(hn::Load(d4, rows + lane % 4 * kLanes + lane / 4 * 4), d4, p + lane * stride + i);
  }
  for (; i < tokens; ++i)
    for (int64_t lane = 0; lane < kLanes; ++lane) p[lane * stride + i] = buffer[i * kLanes + lane];
}

template <class D>
HWY_NOINLINE Rows copy_tile(D d, const Plane& plane, int64_t t, int64_t tokens, int64_t c,
                            int64_t lanes, float* buffer) {
  constexpr int64_t kLanes = HWY_LANES(float);
  const int64_t first = t * plane.token_stride + c * plane.channel_stride;
  const Rows copied{buffer, kLanes};
  if (plane.channel_stride == 1) {
    with_element_type(plane.dtype, advance(plane.data, plane.dtype, first), [&](auto* p) HWY_ATTR {
      for (int64_t i = 0; i < tokens; ++i, p += plane.token_stride)
        hn::Store(lanes == kLanes ? load_elements(d, p) : load_first(d, p, lanes), d,
                  buffer + i * kLanes);
    });
    return copied;
  }
  if (plane.dtype == DType::kF32 && plane.token_stride == 1 && lanes == kLanes) {
    load_transposed(d, static_cast<const float*>(plane.data) + first, plane.channel_stride, tokens,
                    buffer);
    return copied;
  }
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      buffer[i * kLanes + lane] =
          lane < lanes
              ? float_at(plane, first + i * plane.token_stride + lane * plane.channel_stride)
              : 0.0f;
  return copied;
}

// Tokens [t, t + tokens) x channels [c, c + lanes) of the plane, lanes <= Lanes(d): in place where
// memory already looks so, otherwise copied to buffer (tokens rows of Lanes(d), zeros after lanes).
template <class D>
HWY_INLINE Rows load_tile(D d, const Plane& plane, int64_t t, int64_t tokens, int64_t c,
                          int64_t lanes, float* buffer) {
  if (plane.channel_stride == 1 && plane.dtype == DType::kF32 && lanes == HWY_LANES(float))
    return {static_cast<const float*>(plane.data) + t * plane.token_stride + c, plane.token_stride};
  return copy_tile(d, plane, t, tokens, c, lanes, buffer);
}

// Where the rows of a tile that store_tile will be given are to be written: memory itself or
// buffer.
struct MutableRows {
  float* data;
  int64_t stride;
};

inline MutableRows tile_for_store(const MutablePlane& plane, int64_t t, int64_t c, int64_t lanes,
                                  float* buffer) {
  constexpr int64_t kLanes = HWY_LANES(float);
  if (plane.dtype == DType::kF32 && plane.channel_stride == 1 && lanes == kLanes)
    return {static_cast<float*>(plane.data) + t * plane.token_stride + c, plane.token_stride};
  return {buffer, kLanes};
}

template <class D>
HWY_NOINLINE void copy_tile_back(D d, float* buffer, const MutablePlane& plane, int64_t t,
                                 int64_t tokens, int64_t c, int64_t lanes) {
  constexpr int64_t kLanes = HWY_LANES(float);
  const int64_t first = t * plane.token_stride + c * plane.channel_stride;
  if (plane.channel_stride == 1) {
    with_element_type(plane.dtype, advance(plane.data, plane.dtype, first), [&](auto* p) HWY_ATTR {
      for (int64_t i = 0; i < tokens; ++i, p += plane.token_stride) {
        const auto v = hn::Load(d, buffer + i * kLanes);
        if (lanes == kLanes)
          store_elements(v, d, p);
        else
          store_first(v, d, p, lanes);
      }
    });
    return;
  }
  if (plane.dtype == DType::kF32 && plane.token_stride == 1 && lanes == kLanes) {
    store_transposed(d, buffer, tokens, static_cast<float*>(plane.data) + first,
                     plane.channel_stride);
    return;
  }
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t lane = 0; lane < lanes; ++lane)
      put_float(plane, first + i * plane.token_stride + lane * plane.channel_stride,
                buffer[i * kLanes + lane]);
}

// Brings rows that were written to buffer to memory; does nothing for those written in place.
template <class D>
HWY_INLINE void store_tile(D d, const MutableRows& rows, float* buffer, const MutablePlane& plane,
                           int64_t t, int64_t tokens, int64_t c, int64_t lanes) {
  if (rows.data == buffer) copy_tile_back(d, buffer, plane, t, tokens, c, lanes);
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SIMD_TILE_INL_H
