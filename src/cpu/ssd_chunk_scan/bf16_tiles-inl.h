// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The matrix products of chunked.cc, on the bf16 dot product of AVX-512: a lane adds the products
// of two pairs of bf16 to a float. Highway has no such target, so this is a region of its own; what
// Highway gives for AVX-512 is inlined into it.
//
// Left operands are rows of pairs, broadcast one by one; right operands have a row of channels (or
// tokens) for each pair. A pair is kept in the memory of a float.

#if defined(HISS_CPU_SSD_BF16_TILES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SSD_BF16_TILES_INL_H
#undef HISS_CPU_SSD_BF16_TILES_INL_H
#else
#define HISS_CPU_SSD_BF16_TILES_INL_H
#endif

#include "cpu/simd/math-inl.h"
#include "cpu/ssd_chunk_scan/chunks.h"
#include "cpu/ssd_chunk_scan/segment-inl.h"

#if defined(HISS_ISA) && HWY_TARGET == HWY_AVX3
// For lambdas, as HWY_ATTR.
#define HISS_BF16_ATTR __attribute__((target(HWY_TARGET_STR ",avx512bf16")))
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
namespace hiss::cpu::HWY_NAMESPACE::bf16 {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Lanes = hn::Vec<Tag>;
inline constexpr int64_t kLanes = HWY_LANES(float);
inline constexpr int64_t kRows = 4;         // of a tile
inline constexpr int64_t kMostVectors = 6;  // of a tile: with 4 rows, 24 registers

// All lanes of `lower` (rounded to bf16), then those of `upper`.
HWY_INLINE __m512i round_vectors(Lanes lower, Lanes upper) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(upper.raw, lower.raw));
}

// A pair (lower, upper) in each lane.
HWY_INLINE __m512i pair_vectors(Lanes lower, Lanes upper) {
  alignas(64) static constexpr uint16_t kInterleave[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(kInterleave), round_vectors(lower, upper));
}

// A row of n floats as pairs of neighbours, and zeros up to `pairs`.
inline void pair_neighbours(const float* row, int64_t n, int64_t pairs, float* to) {
  const Tag d;
  const auto load = [&](int64_t i) HISS_BF16_ATTR {
    if (i + kLanes <= n) return hn::LoadU(d, row + i);
    return i < n ? hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n - i)), d, row + i)
                 : hn::Zero(d);
  };
  for (int64_t i = 0; i < pairs; i += kLanes)
    _mm512_store_si512(to + i, round_vectors(load(2 * i), load(2 * i + kLanes)));
}

// Two rows of n floats as pairs of one from each; zeros up to the next whole vector.
inline void pair_rows(const float* lower, const float* upper, int64_t n, float* to) {
  const Tag d;
  for (int64_t i = 0; i < n; i += kLanes) {
    const auto here = hn::FirstN(d, static_cast<size_t>(std::min(kLanes, n - i)));
    _mm512_store_si512(to + i, pair_vectors(hn::MaskedLoad(here, d, lower + i),
                                            hn::MaskedLoad(here, d, upper + i)));
  }
}

// Two tokens of x, or one (`upper` is nullptr), and what they are multiplied by.
struct TwoTokens {
  const float *lower, *upper;
  float lower_delta, upper_delta, lower_to_end, upper_to_end;
};

// The same of delta * x, and of that decayed to the end of the chunk. False: not all is finite.
inline bool pair_tokens(const TwoTokens& x, int64_t n, float* to, float* to_end) {
  const Tag d;
  constexpr int kNanOrInfinite = 0x99;
  __mmask16 special = 0;
  for (int64_t i = 0; i < n; i += kLanes) {
    const auto here = hn::FirstN(d, static_cast<size_t>(std::min(kLanes, n - i)));
    const Lanes a = hn::Mul(hn::Set(d, x.lower_delta), hn::MaskedLoad(here, d, x.lower + i));
    Lanes b = hn::Zero(d);
    if (x.upper != nullptr)
      b = hn::Mul(hn::Set(d, x.upper_delta), hn::MaskedLoad(here, d, x.upper + i));
    special |= _mm512_fpclass_ps_mask(a.raw, kNanOrInfinite) |
               _mm512_fpclass_ps_mask(b.raw, kNanOrInfinite);
    _mm512_store_si512(to + i, pair_vectors(a, b));
    _mm512_store_si512(to_end + i, pair_vectors(hn::Mul(hn::Set(d, x.lower_to_end), a),
                                                hn::Mul(hn::Set(d, x.upper_to_end), b)));
  }
  return special == 0;
}

template <int64_t kVectors, int64_t kTileRows = kRows>
struct Tile {
  __m512 v[kTileRows][kVectors];
};

// tile += left * right over `pairs`. Rows of `left` are left_row apart; right has vectors of one
// pair right_vector apart, pairs right_row.
template <int64_t kVectors, int64_t kTileRows>
HWY_INLINE void accumulate(Tile<kVectors, kTileRows>& tile, const float* HWY_RESTRICT left,
                           int64_t left_row, const float* HWY_RESTRICT right, int64_t right_row,
                           int64_t right_vector, int64_t pairs) {
  for (int64_t k = 0; k < pairs; ++k) {
    __m512bh b[kVectors];
    for (int64_t i = 0; i < kVectors; ++i)
      b[i] = reinterpret_cast<__m512bh>(_mm512_loadu_ps(right + k * right_row + i * right_vector));
    for (int64_t r = 0; r < kTileRows; ++r) {
      const auto a = reinterpret_cast<__m512bh>(_mm512_set1_ps(left[r * left_row + k]));
      for (int64_t i = 0; i < kVectors; ++i) tile.v[r][i] = _mm512_dpbf16_ps(tile.v[r][i], a, b[i]);
    }
  }
}

template <int64_t kVectors>
HWY_INLINE void clear(Tile<kVectors>& tile) {
  for (auto& row : tile.v)
    for (__m512& v : row) v = _mm512_setzero_ps();
}

template <int64_t kVectors>
HWY_INLINE void store(const Tile<kVectors>& tile, float* to, int64_t row) {
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t i = 0; i < kVectors; ++i)
      _mm512_storeu_ps(to + r * row + i * kLanes, tile.v[r][i]);
}

// Calls body<kVectors>(v) for runs of vectors, near to equal, that add up to `vectors`.
template <class Body>
HWY_INLINE void for_each_vectors(int64_t vectors, Body&& body) {
  int64_t tiles = (vectors + kMostVectors - 1) / kMostVectors;
  for (int64_t v = 0; tiles > 0; --tiles) {
    const int64_t count = (vectors - v + tiles - 1) / tiles;
    switch (count) {
      case 1:
        body.template operator()<1>(v);
        break;
      case 2:
        body.template operator()<2>(v);
        break;
      case 3:
        body.template operator()<3>(v);
        break;
      case 4:
        body.template operator()<4>(v);
        break;
      case 5:
        body.template operator()<5>(v);
        break;
      default:
        body.template operator()<6>(v);
        break;
    }
    v += count;
  }
}

// products = C B^T for each token and the tokens of its and earlier blocks.
inline void multiply_tokens(int64_t tokens, int64_t row_pairs, int64_t pairs, const float* C,
                            const float* B_tokens, float* products) {
  for (int64_t t = 0; t < tokens; t += kRows)
    for_each_vectors(t / kLanes + 1, [&]<int64_t kVectors>(int64_t) HISS_BF16_ATTR {
      Tile<kVectors> tile;
      clear(tile);
      accumulate(tile, C + t * row_pairs, row_pairs, B_tokens, kLanes, row_pairs * kLanes, pairs);
      store(tile, products + t * ssd::kMaxChunk, ssd::kMaxChunk);
    });
}

// y of a chunk: what the state gives, and what the tokens since the chunk began give.
struct Outputs {
  int64_t tokens, vectors;
  bool finite;  // x; otherwise a token must not meet later ones, not even with weight 0
  bool has_state;
  const float* C;
  int64_t row_pairs, state_pairs;  // of C: to the next row, and that are there
  const float* from_start;         // (token)
  const float* h;                  // (pairs of states, width)
  int64_t width;
  const float* mixing;
  const float* x;
  float* y;
  ssd::Ahead next_x, next_z, next_y;
};

// Tokens up to `t` of one row, alone.
template <int64_t kVectors>
HWY_INLINE void mix_row(Tile<kVectors>& tile, int64_t r, const float* mixing, const float* x,
                        int64_t t) {
  Tile<kVectors, 1> row;
  std::copy_n(tile.v[r], kVectors, row.v[0]);
  accumulate(row, mixing, 0, x, ssd::kRow, kLanes, (t + 1) / 2);
  std::copy_n(row.v[0], kVectors, tile.v[r]);
  if (t % 2 == 1) return;
  const auto a = reinterpret_cast<__m512bh>(_mm512_set1_ps(mixing[t / 2]));
  for (int64_t i = 0; i < kVectors; ++i) {
    const __m512i b = _mm512_loadu_si512(x + t / 2 * ssd::kRow + i * kLanes);
    const __m512i lower = _mm512_and_si512(b, _mm512_set1_epi32(0xffff));
    tile.v[r][i] = _mm512_dpbf16_ps(tile.v[r][i], a, reinterpret_cast<__m512bh>(lower));
  }
}

inline void make_outputs(const Outputs& o) {
  for_each_vectors(o.vectors, [&]<int64_t kVectors>(int64_t v) HISS_BF16_ATTR {
    for (int64_t t = 0; t < o.tokens; t += kRows) {
      if (v == 0) {
        fetch_rows<false>(o.next_x, t, t + kRows);
        fetch_rows<false>(o.next_z, t, t + kRows);
        fetch_rows<true>(o.next_y, t, t + kRows);
      }
      Tile<kVectors> tile;
      clear(tile);
      if (o.has_state) {
        accumulate(tile, o.C + t * o.row_pairs, o.row_pairs, o.h + v * kLanes, o.width, kLanes,
                   o.state_pairs);
        for (int64_t r = 0; r < kRows; ++r)
          for (__m512& lanes : tile.v[r])
            lanes = _mm512_mul_ps(lanes, _mm512_set1_ps(o.from_start[t + r]));
      }
      const float* mixing = o.mixing + t * ssd::kPairs;
      const float* x = o.x + v * kLanes;
      if (o.finite)
        accumulate(tile, mixing, ssd::kPairs, x, ssd::kRow, kLanes, (t + kRows) / 2);
      else
        for (int64_t r = 0; r < kRows; ++r) mix_row(tile, r, mixing + r * ssd::kPairs, x, t + r);
      store(tile, o.y + t * ssd::kRow + v * kLanes, ssd::kRow);
    }
  });
}

// h = decay * h + B^T x, and h rounded.
struct States {
  int64_t states, tokens, vectors;
  bool has_state;
  float decay;
  const float* B_states;
  int64_t padded_states;
  const float* x;  // decayed to the end of the chunk
  float *h, *h_rounded;
  int64_t width;
};

inline void make_states(const States& s) {
  for_each_vectors(s.vectors, [&]<int64_t kVectors>(int64_t v) HISS_BF16_ATTR {
    const __m512 decay = _mm512_set1_ps(s.decay);
    for (int64_t n = 0; n < s.states; n += kRows) {
      float* h = s.h + n * s.width + v * kLanes;
      Tile<kVectors> tile;
      if (s.has_state)
        for (int64_t r = 0; r < kRows; ++r)
          for (int64_t i = 0; i < kVectors; ++i)
            tile.v[r][i] = _mm512_mul_ps(decay, _mm512_loadu_ps(h + r * s.width + i * kLanes));
      else
        clear(tile);
      for (int64_t pair = 0; 2 * pair < s.tokens; pair += kLanes)
        accumulate(tile, s.B_states + pair * s.padded_states + n * kLanes, kLanes,
                   s.x + pair * ssd::kRow + v * kLanes, ssd::kRow, kLanes,
                   std::min(kLanes, (s.tokens + 1) / 2 - pair));
      store(tile, h, s.width);
      float* rounded = s.h_rounded + n / 2 * s.width + v * kLanes;
      for (int64_t r = 0; r < kRows; r += 2)
        for (int64_t i = 0; i < kVectors; ++i)
          _mm512_storeu_si512(rounded + r / 2 * s.width + i * kLanes,
                              pair_vectors(Lanes{tile.v[r][i]}, Lanes{tile.v[r + 1][i]}));
    }
  });
}

}  // namespace hiss::cpu::HWY_NAMESPACE::bf16
HWY_POP_ATTRIBUTES
#endif  // HISS_ISA

#endif  // HISS_CPU_SSD_BF16_TILES_INL_H
