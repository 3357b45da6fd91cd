// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/selective_scan/place.cuh"
#include "cuda/selective_scan/shape.cuh"

namespace hiss::cuda::selective_scan {

// B and C on their way to shared memory: what one thread copies and turns into floats, kWidth
// states of one of the two, every kBy-th token of a tile. kVector: four states at once, dstate a
// multiple of them. Rows are [2][kPassStates].
template <class T, class S, bool kWhole, bool kVector>
class Rates {
 public:
  __device__ Rates(const ScanArgs& p, const Place& place) : dstate_(p.dstate) {
    const int tid = static_cast<int>(threadIdx.x),
              at = static_cast<int>(threadIdx.x % kRow * kWidth);
    const int token = static_cast<int>(threadIdx.x / kRow);
    state_ = at % kPassStates;
    const bool first = !kVector || state_ < p.dstate;
    token_ = kept(token < S::kTokens && first ? token : kNever);
    staged_ = kept(S::rate_stages_at(kWhole, kSize) + tid * kWidth * kSize);
    to_ = kept(S::rates_at(kWhole) + 4 * (token * S::kRateRow + at));
    const Strided<const void>& v = at >= kPassStates ? p.C : p.B;
    const int64_t by = v.token * place.forward;
    chunk_ = by * kBy, pass_ = v.channel * kPassStates;
    if constexpr (kVector)
      tile_ = kept(static_cast<int>(by * S::kTokens));
    else
      tile_ = by * S::kTokens;
    from_ = static_cast<const T*>(v.data) + v.row * place.row + v.token * place.begin + by * token +
            v.group * place.group + v.channel * state_;
  }
  // Starts to copy those of the tile at hand, of which `left` tokens exist.
  __device__ void send(int stage, int pass, int left) const {
    const T* from = kVector ? from_ : from_ + pass_ * pass;
    const int to = staged_ + stage * kStageBytes;
    const bool exists = kVector || state_ + pass * kPassStates < dstate_;
#pragma unroll
    for (int i = 0; i < kCount; ++i, from += chunk_) {
      const bool any = !kPartly || token_ + i * kBy < S::kTokens;
      const bool real = token_ + i * kBy < left && exists;
      T* chunk = shared_at<T>(to + i * kChunkBytes);
      if constexpr (kSize * kWidth >= 4)
        copy_async<kSize * kWidth, true>(chunk, from, real ? kSize * kWidth : 0, any);
      else if (any)
        *chunk = real ? *from : from_float<T>(0.0f);
    }
  }
  __device__ void next_tile() { from_ += tile_; }
  // Where those of a stage lie as float.
  __device__ static int place(int stage) {
    return kDirect ? S::rate_stages_at(kWhole, kSize) + stage * kStageBytes : S::rates_at(kWhole);
  }
  __device__ void take(int stage) const {
    if constexpr (kDirect) return;
    const int from = staged_ + stage * kStageBytes;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (kPartly && token_ + i * kBy >= S::kTokens) continue;
      float value[kWidth];
      load_pack<kWidth>(shared_at<T>(from + i * kChunkBytes), value);
      store_pack<kWidth>(value, shared_at<float>(to_ + 4 * i * kBy * S::kRateRow));
    }
  }

 private:
  static constexpr int kWidth = kVector ? 4 : 1, kSize = static_cast<int>(sizeof(T));
  static constexpr bool kDirect = kSize == 4;
  static constexpr int kRow = S::kRateRow / kWidth, kBy = S::kThreads / kRow;
  static constexpr int kCount = (S::kTokens + kBy - 1) / kBy;
  static constexpr bool kPartly = S::kTokens % kBy != 0;
  static constexpr int kChunkBytes = S::kThreads * kWidth * kSize;
  static constexpr int kStageBytes = S::kTokens * S::kRateRow * kSize;
  static constexpr int kNever = 1 << 30;
  static_assert(S::kThreads % kRow == 0);

  const int64_t dstate_;
  int token_, state_, staged_, to_;  // the last two: bytes of shared memory
  int64_t chunk_, pass_;
  std::conditional_t<kVector, int, int64_t> tile_;
  const T* from_;
};

}  // namespace hiss::cuda::selective_scan
