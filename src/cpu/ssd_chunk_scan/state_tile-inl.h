// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The inner loop of the Mamba-2 scan: a tile of the state, some states by one or two vectors of
// channels, stays in registers for a tile of tokens.

#if defined(HISS_CPU_SSD_STATE_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SSD_STATE_TILE_INL_H
#undef HISS_CPU_SSD_STATE_TILE_INL_H
#else
#define HISS_CPU_SSD_STATE_TILE_INL_H
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/simd/isa-inl.h"
#include "cpu/ssd_chunk_scan/blocks.h"
#include "cpu/ssd_chunk_scan/segment-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE::ssd_tile {
namespace hn = hwy::HWY_NAMESPACE;

// States of a tile; by two vectors these take half of the registers.
inline constexpr int64_t kMaxStates = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 8 : 4;

// Calls body<kStates>(n) for blocks of states that add up to dstate: as many of kMaxStates as fit,
// then halves of it, so that no dstate is padded.
template <class Body>
HWY_INLINE void for_each_states(int64_t dstate, Body&& body) {
  int64_t n = 0;
  for (; n + kMaxStates <= dstate; n += kMaxStates) body.template operator()<kMaxStates>(n);
  if constexpr (kMaxStates > 4)
    if (n + 4 <= dstate) body.template operator()<4>(n), n += 4;
  if (n + 2 <= dstate) body.template operator()<2>(n), n += 2;
  if (n < dstate) body.template operator()<1>(n);
}

// The tokens before which the state is multiplied by a row of factors, in order; a token may come
// twice. tokens[count] is behind the tile.
struct Rescalings {
  int64_t tokens[2 * ssd::kTileTokens + 1];
  int64_t count = 0;
};

// For each token: h *= factors where due, h += B x, y = C h (added to y unless it is `begin`).
// B_and_C (tokens, 2, states) is dense; rows of h, x, y and factors are kRow apart.
template <int64_t kVectors, size_t... n>
HWY_INLINE void scan_tile(std::index_sequence<n...>, int64_t tokens, bool begin,
                          const float* HWY_RESTRICT B_and_C, const float* HWY_RESTRICT x,
                          const Rescalings& rescalings, const float* HWY_RESTRICT factors,
                          float* HWY_RESTRICT y, float* HWY_RESTRICT h_memory) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = HWY_LANES(float), kStates = sizeof...(n), kRow = ssd::kRow;
  struct Vectors {
    HWY_ATTR Vectors() {}
    V v[kVectors];
  };
  const auto load = [&](const float* p) HWY_ATTR {
    Vectors r;
    for (int64_t i = 0; i < kVectors; ++i) r.v[i] = hn::LoadU(d, p + i * kLanes);
    return r;
  };
  const auto store = [&](const Vectors& r, float* p) HWY_ATTR {
    for (int64_t i = 0; i < kVectors; ++i) hn::StoreU(r.v[i], d, p + i * kLanes);
  };
  Vectors h[kStates] = {load(h_memory + n * kRow)...};
  int64_t next = 0;
  for (int64_t t = 0; t < tokens; ++t, B_and_C += 2 * kStates) {
    for (; rescalings.tokens[next] == t; ++next) {
      const Vectors factor = load(factors + next * kRow);
      const auto multiply = [&](Vectors& state) HWY_ATTR {
        for (int64_t i = 0; i < kVectors; ++i) state.v[i] = hn::Mul(state.v[i], factor.v[i]);
      };
      (multiply(h[n]), ...);
    }
    const Vectors x_t = load(x + t * kRow);
    Vectors y_t{};
    if (begin)
      for (int64_t i = 0; i < kVectors; ++i) y_t.v[i] = hn::Zero(d);
    else
      y_t = load(y + t * kRow);
    const auto update = [&](Vectors& state, float B, float C) HWY_ATTR {
      for (int64_t i = 0; i < kVectors; ++i) {
        state.v[i] = hn::MulAdd(hn::Set(d, B), x_t.v[i], state.v[i]);
        y_t.v[i] = hn::MulAdd(hn::Set(d, C), state.v[i], y_t.v[i]);
      }
    };
    (update(h[n], B_and_C[n], B_and_C[kStates + n]), ...);
    store(y_t, y + t * kRow);
  }
  (store(h[n], h_memory + n * kRow), ...);
}

// B and C of a tile as scan_tile takes them, one block of states after another.
inline void pack_states(const Plane& B, const Plane& C, int64_t tokens, int64_t dstate,
                        float* HWY_RESTRICT B_and_C) {
  for (int64_t t = 0; t < tokens; ++t) {
    const auto pack = [&]<int64_t kStates>(int64_t n) HWY_ATTR {
      float* HWY_RESTRICT to = B_and_C + 2 * (n * tokens + t * kStates);
      for (const Plane* plane : {&B, &C}) {
        const int64_t first = t * plane->token_stride + n * plane->channel_stride;
        if (plane->dtype == DType::kF32 && plane->channel_stride == 1)
          std::memcpy(to, static_cast<const float*>(plane->data) + first, kStates * sizeof(float));
        else
          for (int64_t k = 0; k < kStates; ++k)
            to[k] = float_at(*plane, first + k * plane->channel_stride);
        to += kStates;
      }
    };
    for_each_states(dstate, pack);
  }
}

// What the next tile of tokens will want, brought near a little at a time: all at once, the loads
// that are wanted now would wait behind it.
struct NextTile {
  ssd::Ahead x, y, z;
};

// All states of `vectors` vectors of channels, for a tile of tokens.
inline void scan_columns(int64_t vectors, int64_t tokens, int64_t dstate,
                         const Rescalings& rescalings, const NextTile& next,
                         ssd::Scratch& scratch) {
  constexpr int64_t kLanes = HWY_LANES(float);
  const float* B_and_C = scratch.B_and_C(dstate);
  const int64_t steps = (vectors + 1) / 2 * std::max<int64_t>(1, dstate / kMaxStates);
  const int64_t rows = (ssd::kTileTokens + steps - 1) / steps;
  int64_t row = 0;
  for (int64_t v = 0; v < vectors; v += 2) {
    const int64_t column = v * kLanes;
    const auto scan = [&]<int64_t kStates>(int64_t n) HWY_ATTR {
      fetch_rows<false>(next.x, row, row + rows);
      fetch_rows<false>(next.z, row, row + rows);
      fetch_rows<true>(next.y, row, row + rows);
      row += rows;
      const auto tile = [&]<int64_t kVectors>() HWY_ATTR {
        scan_tile<kVectors>(std::make_index_sequence<kStates>(), tokens, n == 0,
                            B_and_C + 2 * n * tokens, scratch.x + column, rescalings,
                            scratch.factors + column, scratch.y + column,
                            scratch.h() + n * ssd::kRow + column);
      };
      if (v + 1 < vectors)
        tile.template operator()<2>();
      else
        tile.template operator()<1>();
    };
    for_each_states(dstate, scan);
  }
}

}  // namespace hiss::cpu::HWY_NAMESPACE::ssd_tile
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SSD_STATE_TILE_INL_H
