// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>

#include "cuda/selective_scan/place.cuh"
#include "cuda/selective_scan/shape.cuh"
#include "cuda/selective_scan/step.cuh"

namespace hiss::cuda::selective_scan {

// What one thread does with the elements of u, dt, z and y: it copies its chunks of a tile to
// shared memory, makes delta and delta * u of them before the scan, and y after it. It reads no
// chunk but its own, so a copy needs no barrier. `left`: tokens of the tile that exist. kParts: the
// lanes of a channel have left their parts of a sum beside each other, a token's in a row.
template <class T, class S, Access kAccess, bool kWhole, bool kOutput, bool kParts = false>
class Elements {
 public:
  static constexpr bool kAlongTime = along_time(kAccess);

  // Host: the steps of a thread, in bytes.
  static void prepare(ScanArgs& p) {
    const auto set = [&](auto& v) {
      const int64_t token = v.token * (p.reverse ? -1 : 1) * kSize;
      v.chunk = token * kTokenBy + v.channel * kChannelBy * kSize, v.tile = token * S::kTokens;
    };
    set(p.u), set(p.dt), set(p.z), set(p.y);
  }

  // Thread `tid` of those that share them; the first tile is `first`.
  __device__ Elements(const ScanArgs& p, const Place& place, int tid, int first = 0)
      : p_(p), full_(place.channels == S::kBlockChannels) {
    const int fast = tid % kRow * kWidth, slow = tid / kRow;
    const int channel = kAlongTime ? slow : fast, token = kAlongTime ? fast : slow;
    token_ = kept(slow < kSlow && channel < place.channels ? token : kNever);
    channels_left_ = place.channels - channel;
    staged_ = kept(S::stages_at(kWhole, kSize) + tid * kWidth * kSize);
    constants_ = kept(S::constants_at(kWhole, kSize) + 4 * channel);
    step_ = kept(4 * (token * S::kStepRow + S::step_at(channel)));
    sum_ = kept(S::sums_at(kWhole) +
                (kParts ? 4 * (token * S::kPartRow + channel * S::kLanes) : step_));
    const auto first_of = [&](const auto& v) {
      const T* data = static_cast<const T*>(v.data);
      return reinterpret_cast<const char*>(
          data + v.row * place.row +
          v.token * (place.begin + int64_t{place.forward} * (token + first * S::kTokens)) +
          v.channel * (place.first + channel));
    };
    u_ = first_of(p.u), dt_ = first_of(p.dt), z_ = first_of(p.z);
    y_ = const_cast<char*>(first_of(p.y));
  }

  // Starts to copy the next tile to a stage.
  __device__ void send(int stage, int left) {
    const int to = staged_ + stage * kStageBytes;
    const bool any = left > 0 && has_chunk();
    send(p_.u, u_, left, to, any), send(p_.dt, dt_, left, to + kTensorBytes, any);
    if (kOutput) send(p_.z, z_, left, to + 2 * kTensorBytes, any && p_.z.data != nullptr);
  }

  // delta and delta * u. Beyond the sequence and the block's channels delta is 0, which leaves a
  // state as it is.
  __device__ void take_steps(int stage, int left, int half = 0) const {
    if (!has_chunk()) return;
    const int from = staged_ + stage * kStageBytes;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const T* chunk = shared_at<T>(from + i * kChunkBytes);
      float u[kWidth], delta[kWidth], bias[kConstants];
      load_pack<kWidth>(chunk, u), load_pack<kWidth>(chunk + S::kElements, delta);
      read(shared_at<float>(constants_ + 4 * i * kChannelBy), bias);
#pragma unroll
      for (int e = 0; e < kWidth; ++e) delta[e] += bias[e % kConstants];
      delta_of(p_, delta);
      if (left < S::kTokens || !full_) {
#pragma unroll
        for (int e = 0; e < kWidth; ++e)
          if (!exists(i, left - (kAlongTime ? e : 0))) delta[e] = 0;
      }
#pragma unroll
      for (int e = 0; e < kWidth; ++e) u[e] *= delta[e];
      float* steps = shared_at<float>(half + step_ + kStepChunk * i);
      if constexpr (kAccess == Access::kAlongChannels) {
#pragma unroll
        for (int e = 0; e < kWidth; e += 2) store_two(delta + e, u + e, steps + S::step_at(e));
      } else {
#pragma unroll
        for (int e = 0; e < kWidth; ++e)
          steps[e * S::kStepRow] = delta[e], steps[e * S::kStepRow + S::kChannels] = u[e];
      }
    }
  }

  // y, from the sums over the states. Tiles one after another.
  __device__ void store_output(int stage, int left, int half = 0) {
    char* at = y_;
#pragma unroll
    for (int i = 0; i < kChunks; ++i, at += p_.y.chunk) {
      if (!exists(i, left)) continue;
      T* const to = reinterpret_cast<T*>(at);
      const T* from = shared_at<T>(staged_ + stage * kStageBytes + i * kChunkBytes);
      const float* sums = shared_at<float>(half + sum_ + kSumChunk * i);
      float v[kWidth];
      if constexpr (kParts) {
#pragma unroll
        for (int e = 0; e < kWidth; ++e)
          v[e] = sum_of_parts(sums + e * (kAlongTime ? S::kPartRow : S::kLanes));
      } else if constexpr (kAlongTime) {
#pragma unroll
        for (int e = 0; e < kWidth; ++e) v[e] = sums[e * S::kStepRow];
      } else if constexpr (kWidth > 1) {
        float both[2 * kWidth];
        read(sums, both);
#pragma unroll
        for (int e = 0; e < kWidth; ++e) v[e] = both[S::step_at(e)];
      } else {
        v[0] = *sums;
      }
      if (p_.D != nullptr) {
        float u[kWidth], D[kConstants];
        load_pack<kWidth>(from, u);
        read(shared_at<float>(constants_ + 4 * (S::kBlockChannels + i * kChannelBy)), D);
#pragma unroll
        for (int e = 0; e < kWidth; ++e) v[e] = __fmaf_rn(D[e % kConstants], u[e], v[e]);
      }
      if (p_.z.data != nullptr) {
        float z[kWidth];
        load_pack<kWidth>(from + 2 * S::kElements, z);
#pragma unroll
        for (int e = 0; e < kWidth; ++e) v[e] *= silu_fast(z[e]);
      }
      const int t = token_ + i * kTokenBy;
      if (!kAlongTime || left - t >= kWidth) {
        store_pack<kWidth>(v, to);
      } else {
#pragma unroll
        for (int e = 0; e < kWidth; ++e)
          if (t + e < left) to[e] = from_float<T>(v[e]);
      }
    }
    y_ += p_.y.tile;
  }

 private:
  static constexpr int kThreads = S::kThreads, kSize = static_cast<int>(sizeof(T));
  // Vectors as wide as leave no thread without.
  static constexpr int kWidth = singly(kAccess)
                                    ? 1
                                    : std::min({kWidest<T>, S::kElements / kThreads,
                                                kAlongTime ? S::kTokens : S::kBlockChannels});
  // Chunks of a row and rows of a tile; what lies between two chunks of a thread.
  static constexpr bool kTimeRows = kAlongTime;
  static constexpr int kRow = (kTimeRows ? S::kTokens : S::kBlockChannels) / kWidth;
  static constexpr int kSlow = kTimeRows ? S::kBlockChannels : S::kTokens;
  static constexpr int kBy = kThreads / kRow;
  static constexpr int kTokenBy = kTimeRows ? 0 : kBy, kChannelBy = kTimeRows ? kBy : 0;
  static constexpr int kChunks = kSlow > kBy ? kSlow / kBy : 1;
  static constexpr int kTensorBytes = S::kElements * kSize, kStageBytes = 3 * kTensorBytes;
  static constexpr int kChunkBytes = kThreads * kWidth * kSize;
  static constexpr int kStepChunk = 4 * (kTokenBy * S::kStepRow + S::step_at(kChannelBy));
  static constexpr int kSumChunk =
      kParts ? 4 * (kTokenBy * S::kPartRow + kChannelBy * S::kLanes) : kStepChunk;
  // A row shorter than a sector: other warps read the rest of it.
  static constexpr bool kShared = kRow * kWidth * kSize < 32;
  static constexpr int kConstants = kAlongTime ? 1 : kWidth;
  static constexpr int kNever = 1 << 30;
  static_assert(kThreads % kRow == 0 && (kSlow % kBy == 0 || kBy % kSlow == 0));

  // False for a thread that has none: there are more threads than chunks.
  __device__ bool has_chunk() const { return kThreads <= kRow * kSlow || token_ != kNever; }
  // Whether chunk i is of the first `left` tokens and of a channel.
  __device__ bool exists(int i, int left) const {
    return token_ + i * kTokenBy < left && (kChannelBy == 0 || i * kChannelBy < channels_left_);
  }
  __device__ void send(const Strided<const void>& v, const char*& first, int left, int to,
                       bool any) const {
    const char* from = first;
#pragma unroll
    for (int i = 0; i < kChunks; ++i, from += v.chunk) {
      int real = exists(i, left) ? kWidth : 0;
      if (kAlongTime) real = min(real, max(left - token_ - i * kTokenBy, 0));
      T* chunk = shared_at<T>(to + i * kChunkBytes);
      if constexpr (kSize * kWidth >= 4)
        copy_async<kSize * kWidth, kShared>(chunk, from, real * kSize, any);
      else if (any)
        *chunk = real > 0 ? *reinterpret_cast<const T*>(from) : from_float<T>(0.0f);
    }
    first += v.tile;
  }
  __device__ static float sum_of_parts(const float* from) {
    float part[S::kLanes];
    read(from, part);
    float sum = part[0];
#pragma unroll
    for (int i = 1; i < S::kLanes; ++i) sum += part[i];
    return sum;
  }
  // delta and delta * u of two channels beside each other.
  __device__ static void store_two(const float* d, const float* u, float* to) {
    if constexpr (S::kChannels == 1)
      *reinterpret_cast<float4*>(to) = {d[0], u[0], d[1], u[1]};
    else
      *reinterpret_cast<float4*>(to) = {d[0], d[1], u[0], u[1]};
  }

  const ScanArgs& p_;
  const bool full_;
  int token_, channels_left_;
  int staged_, constants_, step_, sum_;  // bytes of shared memory: of the first chunk
  const char *u_, *dt_, *z_;             // the first chunk of the next tile
  char* y_;                              // and of the tile at hand
};

}  // namespace hiss::cuda::selective_scan
