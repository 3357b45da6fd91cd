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

#include <utility>

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

// Rows of the state of one block, of A, and of B and C of a chunk.
struct StateRows {
  float* state;  // (rows, dstate)
  int64_t row_stride;
  float* snapshots;  // (tokens, rows, dstate), or null
  int64_t snapshot_token_stride, snapshot_row_stride;
  const float* A;  // (rows of a tile, dstate padded with zeros); not used where tied
  int64_t A_row_stride;
  const float *B, *C;  // (tokens, dstate padded with zeros)
  int64_t B_token_stride, C_token_stride;
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
  return decay<DecayRange::kAny>(d, delta, prepare_decay(d, a));
#endif
}

// The four sums over all lanes.
HWY_INLINE void store_sums(const StateVec (&rows)[state_update::kTileRows], float* to) {
  const StateTag d;
  const hn::Repartition<double, StateTag> dd;
  const auto fold = [&](StateVec a, StateVec b) HWY_ATTR {
    return hn::BitCast(dd, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto a = fold(rows[0], rows[1]), b = fold(rows[2], rows[3]);
  // Each 128-bit block holds its part of the four sums.
  const StateVec sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(dd, a, b)),
                                hn::BitCast(d, hn::InterleaveUpper(dd, a, b)));
  const hn::FixedTag<float, 4> d4;
#if HWY_TARGET == HWY_AVX3
  const hn::Half<StateTag> half;
  const auto two = hn::Add(hn::LowerHalf(half, sums), hn::UpperHalf(half, sums));
  hn::StoreU(hn::Add(hn::LowerHalf(d4, two), hn::UpperHalf(d4, two)), d4, to);
#elif HWY_TARGET == HWY_AVX2
  hn::StoreU(hn::Add(hn::LowerHalf(d4, sums), hn::UpperHalf(d4, sums)), d4, to);
#else
  hn::StoreU(sums, d4, to);
#endif
}

// f(0), f(1) ... with constants, so that arrays they index live in registers.
template <int64_t... i, class F>
HWY_INLINE void unroll(std::integer_sequence<int64_t, i...>, F&& f) {
  (f(std::integral_constant<int64_t, i>()), ...);
}
template <int64_t kCount, class F>
HWY_INLINE void unroll(F&& f) {
  unroll(std::make_integer_sequence<int64_t, kCount>(), f);
}

// kRows x kVectors vectors over `tokens` tokens; adds C h to scratch.sums, or sets it at n = 0.
// With kOneToken these sums stay in `sum`. kTied: the decay is that of the head. kPartial: one
// vector, of which `lanes` lanes exist.
template <int64_t kRows, int64_t kVectors, bool kTied, bool kOneToken, bool kPartial>
HWY_INLINE void update_tile(const StateRows& rows, Corner at, int64_t lanes, int64_t tokens,
                            state_update::Scratch& scratch,
                            StateVec (&sum)[state_update::kTileRows]) {
  const StateTag d;
  const float *B_t = rows.B + at.n, *C_t = rows.C + at.n;
  const auto load = [&](const float* p) HWY_ATTR {
    return kPartial ? load_first(d, p, static_cast<size_t>(lanes)) : hn::LoadU(d, p);
  };
  const auto store = [&](StateVec v, float* p) HWY_ATTR {
    if constexpr (kPartial)
      store_first(v, d, p, static_cast<size_t>(lanes));
    else
      hn::StoreU(v, d, p);
  };
  float* state[kRows];
  StateVec h[kRows][kVectors];
  unroll<kRows>([&](auto r) HWY_ATTR {
    state[r] = rows.state + (at.p + r) * rows.row_stride + at.n;
    unroll<kVectors>([&](auto v) HWY_ATTR { h[r][v] = load(state[r] + v * kStateLanes); });
  });
  for (int64_t t = 0; t < (kOneToken ? 1 : tokens); ++t) {
    StateVec y[kRows], delta_x[kRows];
    unroll<kRows>([&](auto r) HWY_ATTR {
      delta_x[r] = hn::Set(d, scratch.delta_x[t][at.p + r]);
      y[r] = kOneToken ? sum[r] : at.n == 0 ? hn::Zero(d) : hn::Load(d, scratch.sums[t][r]);
    });
    const StateVec head_decay = hn::Set(d, kTied ? scratch.decay[t] : 0.0f);
    unroll<kVectors>([&](auto v) HWY_ATTR {
      const StateVec B = hn::LoadU(d, B_t + v * kStateLanes);
      const StateVec C = hn::LoadU(d, C_t + v * kStateLanes);
      unroll<kRows>([&](auto r) HWY_ATTR {
        StateVec decay = head_decay;
        if constexpr (!kTied)
          decay = decay_of(hn::Set(d, scratch.delta[t][at.p + r]),
                           hn::LoadU(d, rows.A + r * rows.A_row_stride + at.n + v * kStateLanes));
        h[r][v] = hn::MulAdd(decay, h[r][v], hn::Mul(delta_x[r], B));
        StateVec term = h[r][v];
        // Lanes that do not exist may hold 0 * Inf.
        if constexpr (kPartial)
          term = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(lanes)), term);
        y[r] = hn::MulAdd(C, term, y[r]);
      });
    });
    unroll<kRows>([&](auto r) HWY_ATTR {
      if constexpr (kOneToken)
        sum[r] = y[r];
      else
        hn::Store(y[r], d, scratch.sums[t][r]);
    });
    B_t += rows.B_token_stride;
    C_t += rows.C_token_stride;
    if (rows.snapshots == nullptr) continue;
    float* snapshot = rows.snapshots + t * rows.snapshot_token_stride + at.n;
    unroll<kRows>([&](auto r) HWY_ATTR {
      float* row = snapshot + (at.p + r) * rows.snapshot_row_stride;
      unroll<kVectors>([&](auto v) HWY_ATTR { store(h[r][v], row + v * kStateLanes); });
    });
  }
  unroll<kRows>([&](auto r) HWY_ATTR {
    unroll<kVectors>([&](auto v) HWY_ATTR { store(h[r][v], state[r] + v * kStateLanes); });
  });
}

// kRows whole rows from p on; y of these rows and all tokens to scratch.y, whose next rows it may
// overwrite. dstate > 0.
template <int64_t kRows, bool kTied, bool kOneToken>
HWY_INLINE void update_rows(const StateRows& rows, int64_t p, int64_t tokens, int64_t dstate,
                            state_update::Scratch& scratch) {
  const StateTag d;
  StateVec sum[state_update::kTileRows] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t n = 0;
  for (; n + kTileVectors * kStateLanes <= dstate; n += kTileVectors * kStateLanes)
    update_tile<kRows, kTileVectors, kTied, kOneToken, false>(rows, {p, n}, 0, tokens, scratch,
                                                              sum);
  for (; n + kStateLanes <= dstate; n += kStateLanes)
    update_tile<kRows, 1, kTied, kOneToken, false>(rows, {p, n}, 0, tokens, scratch, sum);
  if (n < dstate)
    update_tile<kRows, 1, kTied, kOneToken, true>(rows, {p, n}, dstate - n, tokens, scratch, sum);
  for (int64_t t = 0; t < tokens; ++t) {
    if constexpr (!kOneToken)
      unroll<kRows>([&](auto r) HWY_ATTR { sum[r] = hn::Load(d, scratch.sums[t][r]); });
    store_sums(sum, scratch.y[t] + p);
  }
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_STATE_ROWS_INL_H
