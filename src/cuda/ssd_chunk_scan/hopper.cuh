// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "cuda/tile/tma.cuh"
#include "cuda/tile/wgmma.cuh"

namespace hiss::cuda::ssd {

constexpr int kChunk = 64;          // tokens worked on at once
constexpr int kTile = 64 * 64 * 2;  // bytes of 64 tokens by 64 elements
constexpr int kMaxSegments = 8;     // of one sequence, the blocks of a cluster
constexpr float kLog2e = 1.4426950408889634f;

// The kernel's argument: tensors as maps for bulk copies, and the rest as pointers and strides.
struct HopperScan {
  CUtensorMap x, b, c, z, y;
  const void* dt;
  int64_t dt_stride[3];
  const float *A, *D, *dt_bias;
  int64_t A_stride, D_stride[2], dt_bias_stride;
  void* y_data;
  int64_t y_stride[2];  // batch, seqlen
  const float* initial;
  float *final, *checkpoints;
  int64_t initial_stride[3], final_stride[3], checkpoint_stride[4];
  const void* cu_seqlens;
  const int64_t* checkpoint_tokens;
  int64_t cu_stride, checkpoint_token_stride, ncheckpoints, seqlen;
  float* exchange;  // states between segments
  float dt_min, dt_max;
  int nheads, headdim, dstate, ngroups, pairs_per_group, segments;
  bool dt_is_f32, cu_is_i64, softplus, a_is_log;
};

// Per head and chunk, what the decay makes of 64 tokens (s: log2 of the decay since the chunk's
// start, this token included).
struct Scalars {
  float s[kChunk], dt[kChunk];
  float to_end[kChunk];      // dt exp2(s of the last token - s)
  float from_start[kChunk];  // exp2(s)
  float before[3][kChunk];   // dt exp2(s of token 16 (i + 1) - s), for earlier tokens
};

// Shared memory of a block, which owns two tiles of 64 rows (of all heads' rows) of a group.
// kN: states, a multiple of 64; kHeads: heads with rows in one tile.
template <int kN, int kHeads, bool kZ>
struct Shared {
  static constexpr int kPanels = kN / 64;
  static constexpr int kSlots = kHeads == 1 ? 2 : 4;  // heads with rows in the block
  // x and z, then y: a ring of its own, held until y is on its way.
  static constexpr int kGate = 2 * kTile, kRowStage = kGate + (kZ ? 2 * kTile : 0);
  // B, C and the scalars: held until the state is up to date.
  static constexpr int kC = kPanels * kTile, kScalars = 2 * kC;
  static constexpr int kScalarBytes = kSlots * sizeof(Scalars);
  static constexpr int kStage = kScalars + (kScalarBytes + 1023) / 1024 * 1024;
  static constexpr int kWeights = kSlots * kTile;
  static constexpr int kLimit = 227 * 1024 - 1024 - 256 - kWeights;
  static constexpr int kFit = kLimit / (kStage + kRowStage);
  static constexpr int kStages = kFit < 4 ? kFit : 4;
  static constexpr int kRowFit = (kLimit - kStages * kStage) / kRowStage;
  static constexpr int kRowStages = kRowFit < 4 ? kRowFit : 4;
  static constexpr int kBarriers = kWeights + kStages * kStage + kRowStages * kRowStage;
  static constexpr int kBytes = kBarriers + 1024 + 256;
  static_assert(kStages >= 2 && kRowStages >= 2);
};

// Which rows a block works on, and which tokens.
struct Place {
  int64_t sequence, row, begin, end;  // row of the batch; tokens of this segment
  int pair, group, rank, first_head, heads_per_group;
  int64_t unit;  // sequence and pair of tiles
};

__device__ inline Place place_of(const HopperScan& k) {
  Place p;
  const int64_t unit = blockIdx.x / k.segments;
  p.unit = unit;
  p.rank = static_cast<int>(blockIdx.x % k.segments);
  const int pairs = k.pairs_per_group * k.ngroups;
  p.sequence = unit / pairs;
  const int pair = static_cast<int>(unit % pairs);
  p.group = pair / k.pairs_per_group;
  p.pair = pair % k.pairs_per_group;
  p.heads_per_group = k.nheads / k.ngroups;
  p.first_head = 128 * p.pair / k.headdim;
  int64_t begin = 0, end = k.seqlen;
  p.row = p.sequence;
  if (k.cu_seqlens) {
    p.row = 0;
    const auto at = [&](int64_t i) {
      const int64_t v = k.cu_is_i64 ? static_cast<const int64_t*>(k.cu_seqlens)[i * k.cu_stride]
                                    : static_cast<const int32_t*>(k.cu_seqlens)[i * k.cu_stride];
      return v < 0 ? 0 : v > k.seqlen ? k.seqlen : v;
    };
    begin = at(p.sequence);
    end = at(p.sequence + 1);
    if (end < begin) end = begin;
  }
  const int64_t chunks = (end - begin + kChunk - 1) / kChunk;
  const int64_t each = (chunks + k.segments - 1) / k.segments;
  const int64_t first = begin + p.rank * each * kChunk, last = first + each * kChunk;
  p.begin = first < end ? first : end;
  p.end = last < end ? last : end;
  return p;
}

// Cuts a segment into chunks: of kChunk tokens, shorter where a checkpoint or the end is.
struct Cutter {
  int64_t t, end, checkpoint = 0;
  int length = 0;
  bool at_checkpoint = false;

  __device__ Cutter(const HopperScan& k, const Place& p) : t(p.begin), end(p.end) {
    while (checkpoint < k.ncheckpoints && token(k) < t) ++checkpoint;
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

// Position in a ring of stages.
template <int kStages>
struct Ring {
  int at = 0;
  uint32_t phase = 0;
  __device__ void advance() {
    if (++at == kStages) at = 0, phase ^= 1;
  }
};

__device__ __forceinline__ float exp2_fast(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

}  // namespace hiss::cuda::ssd
