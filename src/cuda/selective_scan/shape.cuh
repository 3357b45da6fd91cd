// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "cuda/tile/element.cuh"

// How a block of the Mamba-1 scan is laid out, and the moves its threads share.
namespace hiss::cuda::selective_scan {

// States a pass over a tile keeps in registers; a larger dstate takes several passes a tile.
inline constexpr int kPassStates = 16;

// How u, dt, z and y are moved: in vectors along channels or along time, or one by one.
enum class Access { kAlongChannels, kAlongTime, kSinglyAlongChannels, kSinglyAlongTime };
constexpr bool along_time(Access access) {
  return access == Access::kAlongTime || access == Access::kSinglyAlongTime;
}
constexpr bool singly(Access access) {
  return access == Access::kSinglyAlongChannels || access == Access::kSinglyAlongTime;
}

// A block takes kBlockChannels channels. kLanes threads take kChannels of them, kPassStates /
// kLanes states of each; kTokens tokens are a tile, kStages tiles are under way or in use.
// Registers are dealt out for kBlocks blocks to a multiprocessor. kAhead: decays of the next tokens
// are made beside the recurrence of these, for where few warps share a scheduler.
template <int kBlockChannels_, int kLanes_, int kChannels_, int kTokens_, int kStages_,
          int kBlocks_, bool kAhead_>
struct Shape {
  static constexpr int kBlockChannels = kBlockChannels_, kLanes = kLanes_, kChannels = kChannels_;
  static constexpr int kTokens = kTokens_, kStages = kStages_, kBlocks = kBlocks_;
  static constexpr bool kAhead = kAhead_;
  static constexpr int kStates = kPassStates / kLanes;
  static constexpr int kThreads = kBlockChannels * kLanes / kChannels;
  static constexpr int kElements = kTokens * kBlockChannels;  // of a tile
  static constexpr int kBatch = kLanes / kChannels;  // tokens whose sums a group of lanes shares
  static_assert(kLanes % kChannels == 0 && kTokens % kBatch == 0 && kThreads % 32 == 0);
  static_assert(kChannels <= 2);

  // Words between the rows of a tile, so that neither lanes along channels nor lanes along time
  // meet in a bank.
  static constexpr int kStepRow = 2 * kBlockChannels + 4;
  static constexpr int kRateRow = 2 * kPassStates, kCAt = kPassStates;
  static constexpr int kPartRow = kLanes * kBlockChannels + 4;  // parts of sums

  // Shared memory, in bytes: delta and delta * u, whose places the sums over the states take; the
  // sums apart, where several passes read delta; B and C as float where they are not; dt_bias and
  // D; then stages of u, dt and z, and of B and C, of `element` bytes.
  static constexpr int kStepBytes = 4 * kTokens * kStepRow;
  static constexpr int sums_at(bool whole) { return whole ? 0 : kStepBytes; }
  static constexpr int rates_at(bool whole) { return sums_at(whole) + kStepBytes; }
  static constexpr int constants_at(bool whole, int element) {
    return rates_at(whole) + (element == 4 ? 0 : 4 * kTokens * kRateRow);
  }
  static constexpr int stages_at(bool whole, int element) {
    return constants_at(whole, element) + 8 * kBlockChannels;
  }
  static constexpr int rate_stages_at(bool whole, int element) {
    return stages_at(whole, element) + kStages * 3 * kElements * element;
  }
  static constexpr int shared_bytes(bool whole, int element) {
    return rate_stages_at(whole, element) + kStages * kTokens * kRateRow * element;
  }

  // Where delta of a channel lies in its row; delta * u is kChannels behind it.
  __device__ static constexpr int step_at(int channel) {
    return channel / kChannels * 2 * kChannels + channel % kChannels;
  }
  __device__ static void barrier() {
    if constexpr (kThreads == 32)
      __syncwarp();
    else
      __syncthreads();
  }
};

// What a block makes: y of whole sequences; or of segments, from the states that a launch before
// made for their first tokens.
enum class Role { kSequences, kSegmentStates, kSegments };

// kWhole: dstate is kPassStates, one pass. Otherwise any dstate, states beyond it held at zero.
template <class T_, class Shape_, Access kAccess_, bool kWhole_, Role kRole_>
struct Variant {
  using T = T_;
  using S = Shape_;
  static constexpr Access kAccess = kAccess_;
  static constexpr bool kWhole = kWhole_;
  static constexpr Role kRole = kRole_;
  static constexpr bool kOutput = kRole != Role::kSegmentStates;
};

// v, as a value the compiler does not work out again at each use: what a thread adds to an address
// in every tile costs a register this way, and several instructions a tile otherwise.
__device__ __forceinline__ int kept(int v) {
  asm volatile("" : "+r"(v));
  return v;
}
// A place in shared memory, `bytes` from its start.
extern __shared__ __align__(128) char shared_memory[];
template <class T>
__device__ __forceinline__ T* shared_at(int bytes) {
  return reinterpret_cast<T*>(shared_memory + bytes);
}

// kBytes (4, 8 or 16) from global to shared memory where `send` holds, zeros beyond the first
// `real` of them. A predicate of the instruction, since copies that no branch parts are issued
// together. kShared: by way of L1, for what other warps read too.
template <int kBytes, bool kShared = false>
__device__ __forceinline__ void copy_async(void* to, const void* from, int real, bool send = true) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16 && !kShared)
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %3, 0;\n"
        "@p cp.async.cg.shared.global [%0], [%1], 16, %2; }" ::"r"(address),
        "l"(from), "r"(real), "r"(static_cast<int>(send))
        : "memory");
  else
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"
        "@p cp.async.ca.shared.global [%0], [%1], %2, %3; }" ::"r"(address),
        "l"(from), "n"(kBytes), "r"(real), "r"(static_cast<int>(send))
        : "memory");
}
__device__ __forceinline__ void copies_sent() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// All copies but the latest kPending groups have arrived.
template <int kPending>
__device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// kCount floats of shared memory, aligned to 16 bytes or to all of them.
template <int kCount>
__device__ __forceinline__ void read(const float* from, float (&to)[kCount]) {
  constexpr int kPart = kCount < 4 ? kCount : 4;
#pragma unroll
  for (int i = 0; i < kCount; i += kPart) {
    float part[kPart];
    load_pack<kPart>(from + i, part);
#pragma unroll
    for (int k = 0; k < kPart; ++k) to[i + k] = part[k];
  }
}

// Lane l of a group gets the sum over the lanes of value l. The same pairs are added whatever the
// value's place, so a token's sum does not depend on where in a tile it stands.
template <int kLanes>
__device__ __forceinline__ float scatter_sums(float (&v)[kLanes], int lane) {
#pragma unroll
  for (int width = kLanes / 2; width > 0; width /= 2) {
    const bool upper = lane & width;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float keep = upper ? v[i + width] : v[i], give = upper ? v[i] : v[i + width];
      v[i] = keep + __shfl_xor_sync(0xffffffffu, give, width);
    }
  }
  return v[0];
}

}  // namespace hiss::cuda::selective_scan
