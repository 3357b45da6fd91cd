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

// From log_decay: log_sum, from_start, to_end.
inline void make_decays(int64_t tokens, ssd::ChunkScratch& s) {
  const Tag d;
  double sum = 0;
  for (int64_t t = 0; t < tokens; ++t) s.log_sum[t] = static_cast<float>(sum += s.log_decay[t]);
  const Lanes all = hn::Set(d, s.log_sum[tokens - 1]);
  for (int64_t t = 0; t < tokens; t += kLanes) {
    const Lanes log_sum = hn::Load(d, s.log_sum + t);
    hn::Store(exp(d, log_sum), d, s.from_start + t);
    hn::Store(exp(d, hn::Sub(all, log_sum)), d, s.to_end + t);
  }
}

// mixing(t, j) = products(t, j) * exp(log_sum[t] - log_sum[j]) for j <= t, 0 behind. Between blocks
// of 16 tokens the exponential is taken apart where the later block begins: both factors are at
// most 1, so that nothing overflows however strong the decay, and each is taken once. Within a
// block it is taken of the difference.
inline void mix(int64_t tokens, ssd::ChunkScratch& s) {
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
        if (b < block)
          return hn::Mul(hn::Mul(product, hn::Set(d, from_anchor[t - begin])),
                         hn::Load(d, to_anchor + b * kLanes));
        const Lanes decay = exp(d, hn::Sub(hn::Set(d, s.log_sum[t]), log_sum(b)));
        return hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(t - begin + 1)),
                                  hn::Mul(product, decay));
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
