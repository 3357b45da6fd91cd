// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The decays of a chunk of one head, and how its tokens are mixed: C B^T, each entry times the
// decay between its two tokens.

#if defined(HISS_CPU_SSD_MIXING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SSD_MIXING_INL_H
#undef HISS_CPU_SSD_MIXING_INL_H
#else
#define HISS_CPU_SSD_MIXING_INL_H
#endif

#include "cpu/ssd_chunk_scan/bf16_tiles-inl.h"

#if defined(HISS_ISA) && HWY_TARGET == HWY_AVX3
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
namespace hiss::cpu::HWY_NAMESPACE::bf16 {

// From log_decay: log_sum, from_start, to_end. True: no token's decay is above 1.
inline bool make_decays(int64_t tokens, ssd::ChunkScratch& s) {
  const Tag d;
  double sum = 0;
  bool decays = true;
  for (int64_t t = 0; t < tokens; ++t) {
    decays = decays && !(s.log_decay[t] > 0);
    s.log_sum[t] = static_cast<float>(sum += s.log_decay[t]);
  }
  const Lanes all = hn::Set(d, s.log_sum[tokens - 1]);
  for (int64_t t = 0; t < tokens; t += kLanes) {
    const Lanes log_sum = hn::Load(d, s.log_sum + t);
    hn::Store(exp(d, log_sum), d, s.from_start + t);
    hn::Store(exp(d, hn::Sub(all, log_sum)), d, s.to_end + t);
  }
  return decays;
}

// mixing(t, j) = products(t, j) * exp(log_sum[t] - log_sum[j]) for j <= t, 0 behind. Between blocks
// of 16 tokens the exponential is taken apart where the later block begins, so that both factors
// are at most 1 and none is taken more than once; within a block it is taken of the difference. So
// nothing overflows, however strong the decay. Where something grows (`decays` is false) all are
// taken of the difference.
inline void mix(int64_t tokens, bool decays, ssd::ChunkScratch& s) {
  const Tag d;
  constexpr int64_t kBlocks = ssd::kMaxChunk / kLanes;
  for (int64_t block = 0; block * kLanes < tokens; ++block) {
    const int64_t begin = block * kLanes;
    const Lanes anchor = hn::Set(d, begin > 0 ? s.log_sum[begin - 1] : 0.0f);
    const auto log_sum = [&](int64_t b)
                             HISS_BF16_ATTR { return hn::Load(d, s.log_sum + b * kLanes); };
    HWY_ALIGN float from_anchor[kLanes];
    HWY_ALIGN float to_anchor[kBlocks * kLanes];
    hn::Store(exp(d, hn::Sub(log_sum(block), anchor)), d, from_anchor);
    for (int64_t b = 0; b < block; ++b)
      hn::Store(exp(d, hn::Sub(anchor, log_sum(b))), d, to_anchor + b * kLanes);

    for (int64_t t = begin; t < std::min(begin + kLanes, tokens); ++t) {
      const float* products = s.products + t * ssd::kMaxChunk;
      const auto mixed = [&](int64_t b) HISS_BF16_ATTR {
        if (b > block) return hn::Zero(d);
        const Lanes product = hn::Load(d, products + b * kLanes);
        if (b < block && decays)
          return hn::Mul(hn::Mul(product, hn::Set(d, from_anchor[t - begin])),
                         hn::Load(d, to_anchor + b * kLanes));
        const Lanes v = hn::Mul(product, exp(d, hn::Sub(hn::Set(d, s.log_sum[t]), log_sum(b))));
        if (b < block) return v;
        return hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(t - begin + 1)), v);
      };
      for (int64_t b = 0; b <= block; b += 2)
        _mm512_store_si512(s.mixing + t * ssd::kPairs + b * kLanes / 2,
                           round_vectors(mixed(b), mixed(b + 1)));
    }
  }
}

}  // namespace hiss::cpu::HWY_NAMESPACE::bf16
HWY_POP_ATTRIBUTES
#endif  // HISS_ISA

#endif  // HISS_CPU_SSD_MIXING_INL_H
