// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The three phases of one tile (some tokens of one vector of channels) of the Mamba-1 scan. kFast:
// with the functions of fast_math-inl.h.

#if defined(HISS_CPU_SELECTIVE_SCAN_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SELECTIVE_SCAN_TILE_INL_H
#undef HISS_CPU_SELECTIVE_SCAN_TILE_INL_H
#else
#define HISS_CPU_SELECTIVE_SCAN_TILE_INL_H
#endif

#include <utility>

#include "cpu/simd/fast_math-inl.h"
#include "cpu/simd/tile-inl.h"
#include "hiss/ops/selective_scan.h"
#include "hwy/cache_control.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using LanesTag = hn::ScalableTag<float>;
using Lanes = hn::Vec<LanesTag>;
inline constexpr int64_t kLanes = HWY_LANES(float);
// States whose h stays in registers over a tile: half of the registers.
inline constexpr int64_t kMaxStates = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 16 : 8;
inline constexpr int64_t kTileTokens = 32;

// What the phases hand to one another, tokens in memory order.
struct ScanTile {
  HWY_ALIGN float delta[kTileTokens * kLanes];
  HWY_ALIGN float delta_u[kTileTokens * kLanes];
  HWY_ALIGN float y[kTileTokens * kLanes];
};

// The range of delta in a tile, of each lane; NaN does not count.
struct StepRange {
  Lanes smallest, largest;
};

// delta and delta * u of a tile.
template <bool kFast>
HWY_INLINE StepRange step_sizes(const SelectiveScan::Args& args, Rows dt, Rows u, int64_t tokens,
                                Lanes dt_bias, ScanTile& tile) {
  const LanesTag d;
  const Lanes dt_min = hn::Set(d, args.dt_min), dt_max = hn::Set(d, args.dt_max);
  StepRange range{hn::Zero(d), hn::Zero(d)};
  for (int64_t i = 0; i < tokens; ++i) {
    Lanes delta = hn::Add(hn::LoadU(d, dt.data + i * dt.stride), dt_bias);
    if (args.dt_softplus) delta = kFast ? fast_softplus(d, delta) : softplus(d, delta);
    delta = at_most(dt_max, at_least(dt_min, delta));
    hn::Store(delta, d, tile.delta + i * kLanes);
    hn::Store(hn::Mul(delta, hn::LoadU(d, u.data + i * u.stride)), d, tile.delta_u + i * kLanes);
    range.smallest = hn::Min(delta, range.smallest);
    range.largest = hn::Max(delta, range.largest);
  }
  return range;
}

// The cache lines of the tile that comes next: fetched a few a token, so that memory works while
// the multiply-add pipe does.
struct Ahead {
  const char* rows[4];
  int64_t steps[4];
  int count = 0;
  int64_t line = 0, row_bytes = 0, rows_left = 0;

  template <class Void>
  void add(const BasicPlane<Void>& plane, int64_t channels) {
    if (plane.data == nullptr || plane.channel_stride != 1) return;
    rows[count] = static_cast<const char*>(plane.data);
    steps[count++] = plane.token_stride * size_of(plane.dtype);
    row_bytes = channels * size_of(plane.dtype);
  }
  HWY_INLINE void fetch() {
    if (rows_left == 0) return;
    for (int k = 0; k < count; ++k) hwy::Prefetch(rows[k] + line);
    line += 64;
    if (line < row_bytes) return;
    line = 0;
    --rows_left;
    for (int k = 0; k < count; ++k) rows[k] += steps[k];
  }
};

// In which order a tile is consumed, and its rows of B and C (one float a state).
struct ScanOrder {
  int64_t tokens, first, step;
  Rows B, C;
};

// kStates states, h (kStates rows of lanes) in registers: adds sum_n C[n] h[n] to tile.y, or sets
// it with `begin`. rates: prepare_decay's row of each state.
template <DecayRange kRange, bool kFast, size_t... n>
HWY_INLINE void scan_states(std::index_sequence<n...>, const ScanOrder& order, bool begin,
                            const float* HWY_RESTRICT rates, ScanTile& tile, float* h_memory,
                            Ahead& ahead) {
  const LanesTag d;
  constexpr size_t kSums = sizeof...(n) < 4 ? sizeof...(n) : 4;
  Lanes h[sizeof...(n)] = {hn::Load(d, h_memory + n * kLanes)...};
  int64_t t = order.first;
  for (int64_t i = 0; i < order.tokens; ++i, t += order.step) {
    const Lanes delta = hn::Load(d, tile.delta + t * kLanes);
    const Lanes delta_u = hn::Load(d, tile.delta_u + t * kLanes);
    const float* HWY_RESTRICT B = order.B.data + t * order.B.stride;
    const float* HWY_RESTRICT C = order.C.data + t * order.C.stride;
    Lanes sum[kSums];
    const auto update = [&](size_t k, Lanes& state, Lanes& y) HWY_ATTR {
      const Lanes a = decay<kRange, kFast>(d, delta, hn::Load(d, rates + k * kLanes));
      state = hn::MulAdd(a, state, hn::Mul(delta_u, hn::Set(d, B[k])));
      y = k < kSums ? hn::Mul(hn::Set(d, C[k]), state) : hn::MulAdd(hn::Set(d, C[k]), state, y);
    };
    (update(n, h[n], sum[n % kSums]), ...);
    if (begin) ahead.fetch();
    for (size_t half = kSums / 2; half > 0; half /= 2)
      for (size_t k = 0; k < half; ++k) sum[k] = hn::Add(sum[k], sum[k + half]);
    float* y = tile.y + t * kLanes;
    hn::Store(begin ? sum[0] : hn::Add(hn::Load(d, y), sum[0]), d, y);
  }
  (hn::Store(h[n], d, h_memory + n * kLanes), ...);
}

// y = (sum + D * u) * SiLU(z), from tile.y to y. u and z may be the memory of y.
template <bool kFast>
HWY_INLINE void skip_and_gate(const ScanTile& tile, Rows u, Rows z, int64_t tokens, Lanes D,
                              bool has_d, MutableRows y) {
  const LanesTag d;
  for (int64_t i = 0; i < tokens; ++i) {
    Lanes v = hn::Load(d, tile.y + i * kLanes);
    if (has_d) v = hn::MulAdd(D, hn::LoadU(d, u.data + i * u.stride), v);
    if (z.data != nullptr) {
      const Lanes gate = hn::LoadU(d, z.data + i * z.stride);
      v = hn::Mul(v, kFast ? fast_silu(d, gate) : silu(d, gate));
    }
    hn::StoreU(v, d, y.data + i * y.stride);
  }
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SELECTIVE_SCAN_TILE_INL_H
