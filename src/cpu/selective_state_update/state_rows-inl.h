// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The inner loop of the state update: some rows of the state by some vectors of dstate, in
// registers over all tokens of a chunk.

#if defined(HISS_CPU_STATE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_STATE_ROWS_INL_H
#undef HISS_CPU_STATE_ROWS_INL_H
#else
#define HISS_CPU_STATE_ROWS_INL_H
#endif

#include "cpu/selective_state_update/row_blocks.h"
#include "cpu/simd/decay-inl.h"
#include "cpu/simd/elements-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using StateTag = hn::ScalableTag<float>;
using StateVec = hn::Vec<StateTag>;
inline constexpr int64_t kStateLanes = HWY_LANES(float);
// Vectors of dstate in a tile; by four rows these take half of the registers.
inline constexpr int64_t kTileVectors = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 4 : 2;

// Some rows of the state, from one element of dstate on.
struct StateRows {
  float* state;  // (rows, dstate)
  int64_t row_stride;
  float* snapshots;  // (tokens, rows, dstate), or null
  int64_t snapshot_token_stride, snapshot_row_stride;
};

// Where a tile begins: row p of the block, element n of dstate.
struct Corner {
  int64_t p, n;
};

// exp(delta * a), to an error of 1.5e-7 relative to exp of the exact product.
HWY_INLINE StateVec decay_of(StateVec delta, StateVec a) {
  const StateTag d;
#if HWY_NATIVE_FMA
  // The product is rounded and its error made good: exp(x + low) = exp(x) (1 + low). Far out, where
  // exp(x) is 0 or Inf, low might not be finite.
  const StateVec x = hn::Mul(delta, a);
  const auto in_range = hn::Lt(hn::Abs(x), hn::Set(d, 128.0f));
  const StateVec low = hn::IfThenElseZero(in_range, hn::MulSub(delta, a, x));
  return hn::Mul(exp(d, x), hn::Add(low, hn::Set(d, 1.0f)));
#else
  StateVec high, low;
  prepare_decay(d, a, high, low);
  return decay<true>(d, make_decay_time(d, delta), high, low);
#endif
}

// kRows x kVectors vectors over `tokens` tokens; adds C h to scratch.sums. kTied: the decay is that
// of the head. kPartial: one vector, of which `lanes` lanes exist.
template <int64_t kRows, int64_t kVectors, bool kTied, bool kPartial>
HWY_INLINE void update_tile(const StateRows& rows, Corner at, int64_t lanes, int64_t tokens,
                            int64_t dstate, state_update::Scratch& scratch) {
  const StateTag d;
  const int64_t row_length = state_update::padded(dstate);
  const float* HWY_RESTRICT A = scratch.A(dstate) + at.n;
  const float* HWY_RESTRICT B_and_C = scratch.B_and_C() + at.n;
  const auto load = [&](const float* p) HWY_ATTR {
    return kPartial ? load_first(d, p, static_cast<size_t>(lanes)) : hn::LoadU(d, p);
  };
  const auto store = [&](StateVec v, float* p) HWY_ATTR {
    if constexpr (kPartial)
      store_first(v, d, p, static_cast<size_t>(lanes));
    else
      hn::StoreU(v, d, p);
  };
  StateVec h[kRows][kVectors];
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t v = 0; v < kVectors; ++v)
      h[r][v] = load(rows.state + (at.p + r) * rows.row_stride + at.n + v * kStateLanes);
  for (int64_t t = 0; t < tokens; ++t, B_and_C += 2 * row_length) {
    StateVec y[kRows];
    for (int64_t r = 0; r < kRows; ++r) y[r] = hn::Load(d, scratch.sums[t][r]);
    for (int64_t v = 0; v < kVectors; ++v) {
      const StateVec B = hn::LoadU(d, B_and_C + v * kStateLanes);
      const StateVec C = hn::LoadU(d, B_and_C + row_length + v * kStateLanes);
      for (int64_t r = 0; r < kRows; ++r) {
        StateVec decay;
        if constexpr (kTied)
          decay = hn::Set(d, scratch.decay[t]);
        else
          decay = decay_of(hn::Set(d, scratch.delta[t][at.p + r]),
                           hn::LoadU(d, A + r * row_length + v * kStateLanes));
        h[r][v] = hn::MulAdd(decay, h[r][v], hn::Mul(hn::Set(d, scratch.delta_x[t][at.p + r]), B));
        StateVec term = h[r][v];
        // Lanes that do not exist may hold 0 * Inf.
        if constexpr (kPartial)
          term = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(lanes)), term);
        y[r] = hn::MulAdd(C, term, y[r]);
      }
    }
    for (int64_t r = 0; r < kRows; ++r) hn::Store(y[r], d, scratch.sums[t][r]);
    if (rows.snapshots == nullptr) continue;
    float* snapshot = rows.snapshots + t * rows.snapshot_token_stride + at.n;
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t v = 0; v < kVectors; ++v)
        store(h[r][v], snapshot + (at.p + r) * rows.snapshot_row_stride + v * kStateLanes);
  }
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t v = 0; v < kVectors; ++v)
      store(h[r][v], rows.state + (at.p + r) * rows.row_stride + at.n + v * kStateLanes);
}

// kRows whole rows from p on; y of these rows and all tokens to scratch.y.
template <int64_t kRows, bool kTied>
HWY_INLINE void update_rows(const StateRows& rows, int64_t p, int64_t tokens, int64_t dstate,
                            state_update::Scratch& scratch) {
  const StateTag d;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t r = 0; r < kRows; ++r) hn::Store(hn::Zero(d), d, scratch.sums[t][r]);
  int64_t n = 0;
  for (; n + kTileVectors * kStateLanes <= dstate; n += kTileVectors * kStateLanes)
    update_tile<kRows, kTileVectors, kTied, false>(rows, {p, n}, 0, tokens, dstate, scratch);
  for (; n + kStateLanes <= dstate; n += kStateLanes)
    update_tile<kRows, 1, kTied, false>(rows, {p, n}, 0, tokens, dstate, scratch);
  if (n < dstate)
    update_tile<kRows, 1, kTied, true>(rows, {p, n}, dstate - n, tokens, dstate, scratch);
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t r = 0; r < kRows; ++r)
      scratch.y[t][p + r] = hn::GetLane(hn::SumOfLanes(d, hn::Load(d, scratch.sums[t][r])));
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_STATE_ROWS_INL_H
