// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "cuda/ssd_chunk_scan/hopper.h"
#include "cuda/tile/element.cuh"
#include "cuda/tile/math.cuh"
#include "cuda/tile/tma.cuh"
#include "cuda/tile/wgmma.cuh"

namespace hiss::cuda::ssd {

constexpr int kTile = 64 * 64 * 2;  // bytes of 64 tokens by 64 elements

// What is multiplied: F16 would overflow in the state and the weights.
using Factor = __nv_bfloat16;

// Per head and chunk, what the decay makes of 64 tokens. s: log2 of the decay since the chunk's
// start, this token included. Factors lie in pairs of tokens. The first pass has s and dt.
struct Scalars {
  float s[kChunk], dt[kChunk];
  float from_start[kChunk];        // exp2(s)
  uint32_t to_end[kChunk / 2];     // dt exp2(s of the last token - s)
  uint32_t before[3][kChunk / 2];  // dt exp2(s of token 16 (i + 1) - s), for earlier tokens
  uint32_t within[kChunk];         // exp2(s - s of token 16 floor(i / 16)), twice
  float skip;                      // D of the head
  float unused[3];
};

// Shared memory of a block, which owns two tiles of 64 rows (of all heads' rows) of a group.
// kN: states, a multiple of 64; kHeads: heads that may have rows in the block, above 2 where they
// may meet in one tile; kOutputs: of the second pass.
template <int kN, int kHeads, bool kZ, bool kOutputs>
struct Shared {
  static constexpr int kPanels = kN / 64, kSlots = kHeads;
  static constexpr bool kMixed = kHeads > 2;
  static constexpr bool kLong = kN > 128;          // the state takes most of the registers
  static constexpr int kTogether = kLong ? 1 : 2;  // heads whose weights are made side by side
  // A third warpgroup makes the weights.
  static constexpr int kThreads = kOutputs ? 512 : 384;
  // Of a thread that copies or makes scalars, makes weights, holds the state: 65536 in all.
  static constexpr int kCopyRegisters = !kOutputs ? 88 : kLong ? 32 : kMixed ? 72 : 56;
  static constexpr int kWeighRegisters = kLong ? 64 : kMixed ? 88 : 104;
  static constexpr int kRowRegisters = !kOutputs ? 208 : kLong ? 208 : 176;
  // x and z, then y: a ring of its own, held until y is on its way.
  static constexpr int kGate = 2 * kTile, kRowStage = kGate + (kZ ? 2 * kTile : 0);
  // B, C and the scalars: held until the state is up to date.
  static constexpr int kC = kPanels * kTile, kScalars = (kOutputs ? 2 : 1) * kC;
  static constexpr int kScalarBytes = kSlots * sizeof(Scalars);
  static constexpr int kStage = kScalars + (kScalarBytes + 1023) / 1024 * 1024;
  static constexpr int kWeightStages = !kOutputs ? 0 : kHeads < 4 && !(kLong && kZ) ? 2 : 1;
  static constexpr int kWeightStage = kSlots * kTile, kWeights = kWeightStages * kWeightStage;
  static constexpr int kLimit = 227 * 1024 - 1024 - 256 - kWeights;
  static constexpr int kFit = kLimit / (kStage + kRowStage);
  static constexpr int kMost = kOutputs ? 4 : 6;
  static constexpr int kStages = kFit < kMost ? kFit : kMost;
  static constexpr int kRowFit = (kLimit - kStages * kStage) / kRowStage;
  static constexpr int kRowStages = kRowFit < kMost ? kRowFit : kMost;
  static constexpr int kBarriers = kWeights + kStages * kStage + kRowStages * kRowStage;
  static constexpr int kBytes = kBarriers + 1024 + 256;
  static_assert(kStages >= 2 && kRowStages >= 2);
};

// Which rows are worked on, and which tokens.
struct Place {
  int64_t sequence, row, begin, end;  // row of the batch; tokens of this segment
  int64_t walk_from;                  // tokens from here to begin are walked ahead
  int64_t unit;                       // sequence and rows
  int block, group, rank;             // rank of the segment; of tails its chunk or piece
  bool first, last;                   // segment of the sequence
  int first_head, slots;              // heads with rows in the block
  int heads_per_group;
};

__device__ inline Place place_of_unit(const HopperScan& k, int64_t unit) {
  Place p;
  p.unit = unit;
  const auto small = static_cast<uint32_t>(unit);  // enough, and quicker to divide
  const auto blocks_per_group = static_cast<uint32_t>(k.blocks_per_group);
  const auto ngroups = static_cast<uint32_t>(k.ngroups), groups = small / blocks_per_group;
  p.block = static_cast<int>(small - groups * blocks_per_group);
  p.sequence = groups / ngroups;
  p.group = static_cast<int>(groups % ngroups);
  p.heads_per_group = k.nheads / k.ngroups;
  const int last_row = p.heads_per_group * k.headdim - 1;
  p.first_head = min(kBlockRows * p.block, last_row) / k.headdim;
  p.slots = min(kBlockRows * (p.block + 1) - 1, last_row) / k.headdim - p.first_head + 1;
  p.row = k.sequences.at(p.sequence).row;
  return p;
}

// Where each sequence is cut into equal segments, of which this launch works on `here`, the first
// ones: the block's.
__device__ inline Place place_of(const HopperScan& k, uint32_t block, int here) {
  Place p = place_of_unit(k, block / here);
  p.rank = static_cast<int>(block % here);
  p.first = p.rank == 0, p.last = p.rank == k.segments - 1;
  const Span span = k.sequences.at(p.sequence);
  const int64_t chunks = (span.end - span.begin + kChunk - 1) / kChunk;
  const int64_t each = (chunks + k.segments - 1) / k.segments;
  const int64_t first = span.begin + p.rank * each * kChunk, last = first + each * kChunk;
  p.begin = first < span.end ? first : span.end;
  p.end = last < span.end ? last : span.end;
  p.walk_from = p.begin;
  return p;
}

// The tokens of unit `unit` that a range of chunks over all units has.
__device__ inline Place place_in_range(const HopperScan& k, int64_t unit, int64_t begin,
                                       int64_t end) {
  Place p = place_of_unit(k, unit);
  const int64_t chunks = chunks_of(k), at = unit * chunks;
  p.rank = begin > at;
  p.first = p.rank == 0, p.last = end >= at + chunks;
  p.walk_from = 0;
  p.begin = p.rank > 0 ? (begin - at) * kChunk : 0;
  p.end = p.last ? k.sequences.seqlen : (end - at) * kChunk;
  return p;
}

// Of units that are cut into tails: stretch `i` of a block.
template <bool kOutputs>
__device__ inline bool find_in_tails(const HopperScan& k, int block, int i, Place& p) {
  const int units = static_cast<int>(k.units);
  const Stretch s =
      kOutputs ? k.tails.of_block(units, block, i) : k.tails.of_state_block(units, block, i);
  if (s.begin >= s.end) return false;
  p = place_of_unit(k, s.unit);
  p.rank = kOutputs ? s.begin : k.tails.number(s.unit, s.begin);
  p.first = s.begin == 0;
  p.last = s.end == chunks_of(k);
  p.begin = static_cast<int64_t>(s.begin) * kChunk;
  p.end = p.last ? k.sequences.seqlen : static_cast<int64_t>(s.end) * kChunk;
  p.walk_from = p.begin;
  return true;
}

// The block's segment `i` in a pass, if there is one. kTails: of the first pass over tails, which
// is a kernel of its own, so that the one over segments has no word of code more.
template <bool kOutputs, bool kTails>
__device__ __forceinline__ bool find_segment(const HopperScan& k, uint32_t block, int i, Place& p) {
  if (kTails || (kOutputs && k.tails.part > 0))
    return find_in_tails<kOutputs>(k, static_cast<int>(block), i, p);
  if (!kOutputs || k.ranges.count == 0) {
    if (i > 0) return false;
    p = place_of(k, block, kOutputs ? k.segments : k.segments - 1);
    return true;
  }
  const int64_t chunks = chunks_of(k);
  const int64_t begin = k.ranges.begin[block], end = k.ranges.begin[block + 1];
  const int64_t unit = static_cast<uint32_t>(begin) / static_cast<uint32_t>(chunks) + i;
  if (unit * chunks >= end) return false;
  p = place_in_range(k, unit, begin, end);
  return true;
}

// f(Place) for each of them.
template <bool kOutputs, bool kTails, class F>
__device__ __forceinline__ void for_each_segment(const HopperScan& k, F&& f) {
#pragma unroll 1
  for (int i = 0;; ++i) {
    // Everything is made anew for each: kept, it would take registers from the state.
    uint32_t block = blockIdx.x;
    asm volatile("" : "+r"(block), "+r"(i));
    Place p;
    if (!find_segment<kOutputs, kTails>(k, block, i, p)) break;
    f(p);
  }
}

// Cuts a segment into chunks: of kChunk tokens, shorter at its end and where a checkpoint is.
template <bool kOutputs>
struct Cutter {
  int64_t t, end, checkpoint = 0;
  int length = 0;
  bool at_checkpoint = false;

  __device__ Cutter(const HopperScan& k, const Place& p) : t(p.walk_from), end(p.end) {
    while (checkpoint < k.ncheckpoints && token(k) < p.begin) ++checkpoint;
    measure(k);
  }
  __device__ int64_t token(const HopperScan& k) const {
    return k.checkpoint_tokens[checkpoint * k.checkpoint_token_stride];
  }
  __device__ bool done() const { return t >= end; }
  __device__ void next(const HopperScan& k) {
    t += length;
    if (at_checkpoint) ++checkpoint;
    measure(k);
  }
  // n chunks further, or to the end; returns how many.
  __device__ int skip(const HopperScan& k, int n) {
    int i = 0;
    if (checkpoint >= k.ncheckpoints) {
      i = static_cast<int>(min(static_cast<int64_t>(n), (end - t + kChunk - 1) / kChunk));
      t += i * kChunk;
      measure(k);
    } else {
      for (; i < n && !done(); ++i) next(k);
    }
    return i;
  }
  __device__ void measure(const HopperScan& k) {
    length = end - t < kChunk ? static_cast<int>(end - t) : kChunk;
    at_checkpoint = false;
    if (checkpoint >= k.ncheckpoints) return;
    const int64_t at = token(k);
    if (at < t || at - t >= length) return;
    length = static_cast<int>(at - t) + 1;
    at_checkpoint = true;
  }
};

// Of the first pass, which has no checkpoints: from the last chunk to the first, so that what is
// left of each at the segment's end is known.
template <>
struct Cutter<false> {
  int64_t t, begin;
  int length;

  __device__ Cutter(const HopperScan&, const Place& p)
      : t(p.begin + ((p.end - p.begin + kChunk - 1) / kChunk - 1) * kChunk),
        begin(p.begin),
        length(static_cast<int>(p.end - t)) {}
  __device__ bool done() const { return t < begin; }
  __device__ void next(const HopperScan& k) { skip(k, 1); }
  __device__ int skip(const HopperScan&, int n) {
    const int i = static_cast<int>(min(static_cast<int64_t>(n), (t - begin) / kChunk + 1));
    t -= i * kChunk;
    if (i > 0) length = kChunk;
    return i;
  }
};

// Position in a ring of stages.
template <int kStages>
struct Ring {
  int at = 0;
  uint32_t phase = 0;
  __device__ void advance() {
    if (++at == kStages) at = 0, phase ^= 1;
  }
  __device__ void advance(int n) {
    for (at += n; at >= kStages; at -= kStages) phase ^= 1;
  }
};

// exp2_fast without subnormal results, which products with them do not need.
__device__ __forceinline__ float exp2_flushed(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

}  // namespace hiss::cuda::ssd
