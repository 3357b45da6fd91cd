// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/selective_scan/place.cuh"
#include "cuda/selective_scan/shape.cuh"

namespace hiss::cuda::selective_scan {

// B and C of a tile: every thread copies some of the kPassStates + kPassStates numbers of some
// tokens, in vectors of four where kVector, and turns 16-bit ones into floats for all.
template <class T, class S, bool kWhole, bool kVector>
class Rates {
 public:
  // Host: the steps of B and C, in bytes.
  static void prepare(ScanArgs& p) {
    for (Strided<const void>* v : {&p.B, &p.C}) {
      const int64_t token = v->token * (p.reverse ? -1 : 1) * kSize;
      v->chunk = token * kBy, v->tile = token * S::kTokens;
    }
  }

  // Thread `tid` of those that share them; the first tile is `first`.
  __device__ Rates(const ScanArgs& p, const Place& place, int tid, int first_tile = 0) : p_(p) {
    const int token = tid / kRow;
    state_ = tid % kRow * kWidth;
    token_ = kept(token < S::kTokens && (!kVector || state_ < p.dstate) ? token : kNever);
    at_ = kept(token * S::kRateRow + state_);
    const int from = token + first_tile * S::kTokens;
    b_ = first(p.B, place, from), c_ = first(p.C, place, from);
  }
  // Starts to copy those of the tile at hand, of which `left` tokens exist.
  __device__ void send(int stage, int pass, int left) const {
    const bool exists = kVector || state_ + pass * kPassStates < p_.dstate;
    const int to = S::rate_stages_at(kWhole, kSize) + stage * kStageBytes + at_ * kSize;
    send(p_.B, b_, pass, exists ? left : 0, to);
    send(p_.C, c_, pass, exists ? left : 0, to + kPassStates * kSize);
  }
  __device__ void next_tile() { b_ += p_.B.tile, c_ += p_.C.tile; }
  // Where those of a stage lie as float.
  __device__ static int place(int stage) {
    return kDirect ? S::rate_stages_at(kWhole, kSize) + stage * kStageBytes : S::rates_at(kWhole);
  }
  __device__ void take(int stage, int half = 0) const {
    if constexpr (kDirect) return;
    const int from = S::rate_stages_at(kWhole, kSize) + stage * kStageBytes;
#pragma unroll
    for (int i = 0; i < 2 * kCount; ++i) {
      if (!has_chunk(i / 2)) continue;
      const int at = at_ + i / 2 * kBy * S::kRateRow + i % 2 * kPassStates;
      float value[kWidth];
      load_pack<kWidth>(shared_at<T>(from + at * kSize), value);
      store_pack<kWidth>(value, shared_at<float>(half + S::rates_at(kWhole) + 4 * at));
    }
  }

 private:
  static constexpr int kWidth = kVector ? 4 : 1, kSize = static_cast<int>(sizeof(T));
  static constexpr bool kDirect = kSize == 4;  // the scan reads the stage itself
  static constexpr int kRow = kPassStates / kWidth, kBy = S::kThreads / kRow;
  static constexpr int kCount = (S::kTokens + kBy - 1) / kBy;
  static constexpr int kStageBytes = S::kTokens * S::kRateRow * kSize;
  static constexpr int kNever = 1 << 30;
  static_assert(S::kThreads % kRow == 0);

  // Whether chunk i is of a token of the tile.
  __device__ bool has_chunk(int i) const {
    return S::kTokens % kBy == 0 || token_ + i * kBy < S::kTokens;
  }
  __device__ const char* first(const Strided<const void>& v, const Place& place, int token) const {
    return reinterpret_cast<const char*>(
        static_cast<const T*>(v.data) + v.row * place.row + v.group * place.group +
        v.token * (place.begin + int64_t{place.forward} * token) + v.channel * state_);
  }
  __device__ void send(const Strided<const void>& v, const char* from, int pass, int left,
                       int to) const {
    if (!kVector) from += v.channel * pass * kPassStates * kSize;
#pragma unroll
    for (int i = 0; i < kCount; ++i, from += v.chunk) {
      const bool real = token_ + i * kBy < left;
      T* chunk = shared_at<T>(to + i * kBy * S::kRateRow * kSize);
      if constexpr (kSize * kWidth >= 4)
        copy_async<kSize * kWidth, true>(chunk, from, real ? kSize * kWidth : 0, has_chunk(i));
      else if (has_chunk(i))
        *chunk = real ? *reinterpret_cast<const T*>(from) : from_float<T>(0.0f);
    }
  }

  const ScanArgs& p_;
  int token_, state_, at_;  // of the first chunk; at_: in the tile
  const char *b_, *c_;
};

}  // namespace hiss::cuda::selective_scan
