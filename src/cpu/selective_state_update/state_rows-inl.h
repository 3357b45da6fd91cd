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
// Vectors of dstate in a tile of several tokens: by four rows these take half of the registers; and
// of one token, where B and C take as many.
inline constexpr int64_t kTileVectors = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 4 : 2;
inline constexpr int64_t kStreamVectors = 2 * kTileVectors;

// Rows of the state of one block, of A, and of B and C of a chunk.
struct StateRows {
  float* state;  // (rows, dstate)
  int64_t row_stride;
  const float* from = nullptr;  // what it is before the chunk: state itself, or an initial one
  int64_t from_row_stride = 0;
  float* snapshots = nullptr;  // (tokens, rows, dstate), or null
  int64_t snapshot_token_stride = 0, snapshot_row_stride = 0;
  const float* A = nullptr;  // (rows of a tile, dstate padded with zeros); not used where tied
  int64_t A_row_stride = 0;
  const float *B = nullptr, *C = nullptr;  // (tokens, dstate padded with zeros)
  int64_t B_token_stride = 0, C_token_stride = 0;
};

// How a chunk is gone through. One token from where it goes back to is told apart from one that
// begins elsewhere: through one pointer loads and stores overlap better, by an eighth of the time.
enum class Walk { kSeveralTokens, kOneToken, kOneTokenFromElsewhere };

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

// Vectors of a row: all lanes, or with kPartial the first `lanes`.
template <bool kPartial>
HWY_INLINE StateVec load_row(const float* p, int64_t lanes) {
  const StateTag d;
  return kPartial ? load_first(d, p, static_cast<size_t>(lanes)) : hn::LoadU(d, p);
}
template <bool kPartial>
HWY_INLINE void store_row(StateVec v, float* p, int64_t lanes) {
  const StateTag d;
  if constexpr (kPartial)
    store_first(v, d, p, static_cast<size_t>(lanes));
  else
    hn::StoreU(v, d, p);
}

// The decay of a vector of states of row r of a tile: that of the head, or of its own.
template <bool kTied>
HWY_INLINE StateVec row_decay(const StateRows& rows, int64_t r, int64_t n, float delta,
                              StateVec head_decay) {
  const StateTag d;
  if constexpr (kTied) return head_decay;
  return decay_of(hn::Set(d, delta), hn::LoadU(d, rows.A + r * rows.A_row_stride + n));
}

// h = decay * h + delta_x * B; and C h begins or continues a sum over dstate.
template <bool kPartial>
HWY_INLINE StateVec step(StateVec h, StateVec decay, StateVec delta_x, StateVec B, StateVec C,
                         int64_t lanes, bool first, StateVec& sum) {
  const StateTag d;
  h = hn::MulAdd(decay, h, hn::Mul(delta_x, B));
  StateVec term = h;
  // Lanes that do not exist may hold 0 * Inf.
  if constexpr (kPartial)
    term = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(lanes)), term);
  sum = first ? hn::Mul(C, term) : hn::MulAdd(C, term, sum);
  return h;
}

// One token: kRows x kVectors vectors, in the order in which they lie in memory; adds C h to
// `sums`. Every kTileVectors begin a sum of their own, so that one need not wait for the other, and
// because update_tile does so too. No snapshots. kPartial: one vector, of which `lanes` lanes
// exist.
template <int64_t kRows, int64_t kVectors, bool kTied, Walk kWalk, bool kPartial>
HWY_INLINE void stream_tile(const StateRows& rows, Corner at, int64_t lanes,
                            const state_update::Scratch& scratch, StateVec* sums) {
  const StateTag d;
  constexpr int64_t kSums = (kVectors + kTileVectors - 1) / kTileVectors;
  StateVec B[kVectors], C[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) {
    B[v] = hn::LoadU(d, rows.B + at.n + v * kStateLanes);
    C[v] = hn::LoadU(d, rows.C + at.n + v * kStateLanes);
  }
  const StateVec head_decay = hn::Set(d, kTied ? scratch.decay[0] : 0.0f);
  for (int64_t r = 0; r < kRows; ++r) {
    float* state = rows.state + (at.p + r) * rows.row_stride + at.n;
    const float* from = state;
    if constexpr (kWalk == Walk::kOneTokenFromElsewhere)
      from = rows.from + (at.p + r) * rows.from_row_stride + at.n;
    const StateVec delta_x = hn::Set(d, scratch.delta_x[0][at.p + r]);
    StateVec sum[kSums];
    for (int64_t v = 0; v < kVectors; ++v) {
      const StateVec decay =
          row_decay<kTied>(rows, r, at.n + v * kStateLanes, scratch.delta[0][at.p + r], head_decay);
      const StateVec h = load_row<kPartial>(from + v * kStateLanes, lanes);
      store_row<kPartial>(step<kPartial>(h, decay, delta_x, B[v], C[v], lanes,
                                         v % kTileVectors == 0, sum[v / kTileVectors]),
                          state + v * kStateLanes, lanes);
    }
    StateVec all = sums[r];
    for (int64_t i = 0; i < kSums; ++i) all = hn::Add(all, sum[i]);
    sums[r] = all;
  }
}

// Several tokens: the tile stays in registers. The sums are in scratch, and begin at n = 0.
template <int64_t kRows, int64_t kVectors, bool kTied, bool kPartial>
HWY_INLINE void update_tile(const StateRows& rows, Corner at, int64_t lanes, int64_t tokens,
                            state_update::Scratch& scratch) {
  const StateTag d;
  const float *B_t = rows.B + at.n, *C_t = rows.C + at.n;
  float* state[kRows];
  StateVec h[kRows][kVectors];
  unroll<kRows>([&](auto r) HWY_ATTR {
    state[r] = rows.state + (at.p + r) * rows.row_stride + at.n;
    const float* from = rows.from + (at.p + r) * rows.from_row_stride + at.n;
    unroll<kVectors>([&](auto v)
                         HWY_ATTR { h[r][v] = load_row<kPartial>(from + v * kStateLanes, lanes); });
  });
  for (int64_t t = 0; t < tokens; ++t) {
    StateVec sum[kRows], delta_x[kRows];
    unroll<kRows>([&](auto r) HWY_ATTR { delta_x[r] = hn::Set(d, scratch.delta_x[t][at.p + r]); });
    const StateVec head_decay = hn::Set(d, kTied ? scratch.decay[t] : 0.0f);
    unroll<kVectors>([&](auto v) HWY_ATTR {
      const StateVec B = hn::LoadU(d, B_t + v * kStateLanes);
      const StateVec C = hn::LoadU(d, C_t + v * kStateLanes);
      unroll<kRows>([&](auto r) HWY_ATTR {
        const StateVec decay = row_decay<kTied>(rows, r, at.n + v * kStateLanes,
                                                scratch.delta[t][at.p + r], head_decay);
        h[r][v] = step<kPartial>(h[r][v], decay, delta_x[r], B, C, lanes, v == 0, sum[r]);
      });
    });
    unroll<kRows>([&](auto r) HWY_ATTR {
      const StateVec before = at.n == 0 ? hn::Zero(d) : hn::Load(d, scratch.sums[t][r]);
      hn::Store(hn::Add(before, sum[r]), d, scratch.sums[t][r]);
    });
    B_t += rows.B_token_stride;
    C_t += rows.C_token_stride;
    if (rows.snapshots == nullptr) continue;
    float* snapshot = rows.snapshots + t * rows.snapshot_token_stride + at.n;
    unroll<kRows>([&](auto r) HWY_ATTR {
      float* row = snapshot + (at.p + r) * rows.snapshot_row_stride;
      unroll<kVectors>(
          [&](auto v) HWY_ATTR { store_row<kPartial>(h[r][v], row + v * kStateLanes, lanes); });
    });
  }
  unroll<kRows>([&](auto r) HWY_ATTR {
    unroll<kVectors>(
        [&](auto v) HWY_ATTR { store_row<kPartial>(h[r][v], state[r] + v * kStateLanes, lanes); });
  });
}

// body<kVectors, kPartial>(n, lanes) for tiles of at most kMost vectors, and then of ever smaller
// powers of two, that add up to dstate.
template <int64_t kMost, class Body>
HWY_INLINE void for_each_tile(int64_t dstate, Body&& body) {
  int64_t n = 0;
  for (; n + kMost * kStateLanes <= dstate; n += kMost * kStateLanes)
    body.template operator()<kMost, false>(n, 0);
  const int64_t rest = (dstate - n) / kStateLanes;
  if constexpr (kMost > 4)
    if (rest & 4) body.template operator()<4, false>(n, 0), n += 4 * kStateLanes;
  if constexpr (kMost > 2)
    if (rest & 2) body.template operator()<2, false>(n, 0), n += 2 * kStateLanes;
  if (rest & 1) body.template operator()<1, false>(n, 0), n += kStateLanes;
  if (n < dstate) body.template operator()<1, true>(n, dstate - n);
}

// kRows whole rows from p on; y of these rows and all tokens to scratch.y, whose next rows it may
// overwrite. dstate > 0.
template <int64_t kRows, bool kTied, Walk kWalk>
HWY_INLINE void update_rows(const StateRows& rows, int64_t p, int64_t tokens, int64_t dstate,
                            state_update::Scratch& scratch) {
  const StateTag d;
  StateVec sums[state_update::kTileRows] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  if constexpr (kWalk != Walk::kSeveralTokens) {
    const auto stream = [&]<int64_t kVectors, bool kPartial>(int64_t n, int64_t lanes) HWY_ATTR {
      stream_tile<kRows, kVectors, kTied, kWalk, kPartial>(rows, {p, n}, lanes, scratch, sums);
    };
    for_each_tile<kTied ? kStreamVectors : kTileVectors>(dstate, stream);
    store_sums(sums, scratch.y[0] + p);
    return;
  }
  const auto update = [&]<int64_t kVectors, bool kPartial>(int64_t n, int64_t lanes) HWY_ATTR {
    update_tile<kRows, kVectors, kTied, kPartial>(rows, {p, n}, lanes, tokens, scratch);
  };
  for_each_tile<kTileVectors>(dstate, update);
  for (int64_t t = 0; t < tokens; ++t) {
    unroll<kRows>([&](auto r) HWY_ATTR { sums[r] = hn::Load(d, scratch.sums[t][r]); });
    store_sums(sums, scratch.y[t] + p);
  }
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_STATE_ROWS_INL_H
