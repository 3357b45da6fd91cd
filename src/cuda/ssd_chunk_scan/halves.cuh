// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/chunked_prepare.cuh"
#include "cuda/ssd_chunk_scan/chunked_times.cuh"
#include "cuda/ssd_chunk_scan/halves.h"
#include "cuda/ssd_chunk_scan/hopper.cuh"

namespace hiss::cuda::ssd {

using ssd_chunk_scan::Times;

// What the decay makes of 64 tokens of a head, besides Times.
struct HeadChunk {
  Times times;
  float from_start[kChunk];  // 2^lowest
  float to_end[kChunk];      // 2^(lowest of the last token - sum)
  float decay, growth;       // 2^sum of the last token, and its part above 2^lowest
  float unused[2];
};

// Shared memory of a block, which owns two tiles of 64 rows (of all heads' rows) of a group.
// kN: states, a multiple of 64; kHeads: heads that may have rows in the block, above 2 where they
// may meet in one tile; kOutputs: of the pass that makes y.
template <int kN, int kHeads, bool kOutputs>
struct HalvesShared {
  static constexpr int kPanels = kN / 64, kSlots = kHeads;
  static constexpr bool kMixed = kHeads > 2;
  static constexpr int kThreads = kOutputs ? 512 : 384;
  // Of a thread that copies or makes times, makes weights, holds the state: 65536 in all.
  static constexpr int kCopyRegisters = kOutputs ? 40 : 72;
  static constexpr int kWeighRegisters = 88;
  static constexpr int kRowRegisters = kOutputs ? 192 : 216;
  // Two parts of B or of C: a ring in which they take turns.
  static constexpr int kPart = kPanels * kTile, kOperand = 2 * kPart;
  static constexpr int kOperands = kOutputs ? 3 : 2;
  // x, then y: 64 tokens by 128 rows in panels of 32; what the decay makes; exponents.
  static constexpr int kTimes = 4 * kTile;
  static constexpr int kExponents = kTimes + kSlots * static_cast<int>(sizeof(HeadChunk));
  static constexpr int kRowStage = (kExponents + 32 + 1023) / 1024 * 1024;
  static constexpr int kRowStages = 2;
  // Two parts of the weights of each head.
  static constexpr int kWeights = kOutputs ? kSlots * 2 * kTile : 0;
  static constexpr int kRows = kWeights + kOperands * kOperand;
  static constexpr int kBarriers = kRows + kRowStages * kRowStage;
  static constexpr int kBytes = kBarriers + 1024 + 256;
  static_assert(kBytes <= 227 * 1024);
};

// The block's barriers.
template <class S>
struct HalvesBarriers {
  TransferBarrier operand_full[S::kOperands], operand_empty[S::kOperands];
  TransferBarrier row_full[S::kRowStages], row_empty[S::kRowStages];
  TransferBarrier weights_full, weights_empty;
};

template <class S>
struct HalvesMemory {
  char* memory;
  uint32_t base;  // the same, as a shared address
  HalvesBarriers<S>& barriers;

  __device__ uint32_t operand(int at) const { return base + S::kWeights + at * S::kOperand; }
  __device__ uint32_t row_stage(int at) const { return base + S::kRows + at * S::kRowStage; }
  __device__ char* row_memory(int at) const { return memory + S::kRows + at * S::kRowStage; }
  __device__ HeadChunk& head_chunk(int at, int slot) const {
    return reinterpret_cast<HeadChunk*>(row_memory(at) + S::kTimes)[slot];
  }
  // Of C in each strip of 16 tokens, and of B.
  __device__ const int* exponents(int at) const {
    return reinterpret_cast<const int*>(row_memory(at) + S::kExponents);
  }
};

// The chunks of a segment, and their records.
struct Chain {
  int64_t begin;   // of the first chunk
  int64_t record;  // of the first chunk
  int64_t step;    // records from chunk to chunk
  int count;       // chunks
  int last;        // tokens of the last one

  __device__ int length(int chunk) const { return chunk + 1 < count ? kChunk : last; }
};

__device__ inline Chain chain_of(const HopperScan& k, const Place& p) {
  const int64_t tokens = p.end - p.begin;
  const auto count = static_cast<int>((tokens + kChunk - 1) / kChunk);
  const int64_t first = ssd_chunk_scan::Slots{k.sequences, kChunk}.first_of(p.sequence);
  const int64_t ahead = (p.begin - k.sequences.at(p.sequence).begin) / kChunk;
  return {p.begin, (first + ahead) * k.ngroups + p.group, k.ngroups, count,
          static_cast<int>(tokens - int64_t{kChunk} * (count - 1))};
}

// Byte offset of an element of a warpgroup's tile of x or y: 64 tokens by 64 rows of F32 in two
// panels of 32 rows.
__device__ __forceinline__ uint32_t row_offset(int token, int row) {
  return static_cast<uint32_t>(row / 32 * kTile) + swizzled(token, row % 32 / 4) +
         static_cast<uint32_t>(row % 4 * 4);
}

}  // namespace hiss::cuda::ssd
