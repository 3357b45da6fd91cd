// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Rows of a segment (some tokens of channels of one head) between memory of any strides and type,
// and rows of floats. A token's row is walked before the next: rows are often a multiple of a page
// apart, where columns would fight for one set of the cache.

#if defined(HISS_CPU_SSD_SEGMENT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SSD_SEGMENT_INL_H
#undef HISS_CPU_SSD_SEGMENT_INL_H
#else
#define HISS_CPU_SSD_SEGMENT_INL_H
#endif

#include "cpu/simd/tile-inl.h"
#include "cpu/ssd_chunk_scan/blocks.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Void>
bool is_float_row(const BasicPlane<Void>& plane) {
  return plane.dtype == DType::kF32 && plane.channel_stride == 1;
}

template <bool kToWrite>
HWY_INLINE void fetch_rows(const ssd::Ahead& ahead, int64_t first, int64_t last) {
  for (int64_t r = first; r < std::min(last, ahead.rows); ++r)
    for (int64_t i = 0; i < ahead.bytes; i += 64)
      __builtin_prefetch(ahead.data + r * ahead.stride + i, kToWrite, kToWrite ? 3 : 2);
}

// Channels [p, p + channels) of `tokens` tokens: in place, or copied to buffer (tokens, kRow).
inline Rows segment_rows(const Plane& plane, int64_t tokens, int64_t p, int64_t channels,
                         float* buffer) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = HWY_LANES(float);
  if (plane.data == nullptr) return {nullptr, 0};
  if (is_float_row(plane)) return {static_cast<const float*>(plane.data) + p, plane.token_stride};
  HWY_ALIGN float tile[ssd::kTileTokens * kLanes];
  for (int64_t c = 0; c < channels; c += kLanes) {
    const Rows rows = load_tile(d, plane, 0, tokens, p + c, std::min(kLanes, channels - c), tile);
    for (int64_t t = 0; t < tokens; ++t)
      hn::StoreU(hn::LoadU(d, rows.data + t * rows.stride), d, buffer + t * ssd::kRow + c);
  }
  return {buffer, ssd::kRow};
}

// Brings what was written to buffer (tokens, kRow) to memory that is no row of floats.
inline void store_segment(const float* buffer, const MutablePlane& plane, int64_t tokens, int64_t p,
                          int64_t channels) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = HWY_LANES(float);
  HWY_ALIGN float tile[ssd::kTileTokens * kLanes];
  for (int64_t c = 0; c < channels; c += kLanes) {
    for (int64_t t = 0; t < tokens; ++t)
      hn::Store(hn::LoadU(d, buffer + t * ssd::kRow + c), d, tile + t * kLanes);
    store_tile(d, {tile, kLanes}, tile, plane, 0, tokens, p + c, std::min(kLanes, channels - c));
  }
}

// body(channel, load, store) for each vector of a row of `channels`. load(p) and store(v, p) take
// or leave the lanes that are there; memory behind them is not touched.
template <class Body>
HWY_INLINE void for_each_vector_of_row(int64_t channels, Body&& body) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = HWY_LANES(float);
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes)
    body(
        c, [&](const float* p) HWY_ATTR { return hn::LoadU(d, p); },
        [&](V v, float* p) HWY_ATTR { hn::StoreU(v, d, p); });
  const size_t rest = static_cast<size_t>(channels - c);
  if (rest != 0)
    body(
        c, [&](const float* p) HWY_ATTR { return load_first(d, p, rest); },
        [&](V v, float* p) HWY_ATTR { store_first(v, d, p, rest); });
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SSD_SEGMENT_INL_H
