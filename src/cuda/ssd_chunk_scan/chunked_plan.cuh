// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_fp16.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda/ssd_chunk_scan/scan_view.cuh"

// How the chunked kernels cut a problem, and what lies where in their workspace.
namespace hiss::cuda::ssd_chunk_scan {

inline constexpr int kChunk = 64;  // tokens
inline constexpr int kStrip = 16;  // tokens of a chunk that share an exponent of C
// Of 16 rows of a head, in a block.
constexpr int max_row_tiles(int dstate) { return dstate <= 128 ? 8 : 4; }
// Blocks that fill the device. A constant, so that results do not depend on the device.
inline constexpr int64_t kBlocks = 264;

struct Cut {
  int64_t chunk_slots, segment_slots;
  int64_t segment;       // tokens, a multiple of kChunk
  int row_tiles, tiles;  // a head is made of tiles of 16 * row_tiles rows
  int dstate;            // padded
  int parts;             // halves that stand for an operand
  bool cut;              // into more than one segment
};

inline Cut cut_of(const SsdChunkScan::Problem& p) {
  Cut c{};
  c.parts = p.precision == Precision::kFast ? 1 : 2;
  c.dstate = p.dstate <= 64 ? 64 : p.dstate <= 128 ? 128 : 256;
  const int64_t row_tiles = (p.headdim + 15) / 16;
  c.tiles = static_cast<int>(pieces_of(row_tiles, max_row_tiles(c.dstate)));
  c.row_tiles = static_cast<int>(pieces_of(row_tiles, c.tiles));
  const int64_t tokens = p.batch * p.seqlen;
  const int64_t segments = std::max<int64_t>(1, kBlocks / std::max<int64_t>(1, p.nheads * c.tiles));
  // At most 16 segments of a sequence: each adds up the states of those before it.
  const int64_t length = std::max((tokens + segments - 1) / segments, (p.seqlen + 15) / 16);
  c.segment = pieces_of(length, kChunk) * kChunk;
  c.cut = c.segment < p.seqlen;
  c.chunk_slots = slots_of(p, kChunk);
  c.segment_slots = slots_of(p, c.segment);
  return c;
}

// Shared memory of `walk`: C, B, scores; times of two chunks and exponents, what
// warps exchange (chunked_warp.cuh); x.
constexpr int64_t walk_shared_bytes(const Cut& c) {
  return 2 * c.parts * kChunk * c.dstate * 2 + kChunk * kChunk * 4 + 2 * (5 * kChunk * 4 + 16) +
         32 + 2 * 16 * 4 + 16 * 16 * 4 + kChunk * (16 * c.row_tiles + 4) * 4;
}

// What `prepare` makes of a chunk of B and C of one group.
struct Chunks {
  __half* operands;    // [record][C, B][part][kChunk][dstate], swizzled
  float* scores;       // [record][kChunk][kChunk], swizzled: C B^T
  int32_t* exponents;  // [record][8]: C of each strip, B
};

// The states at the ends of all but the last segments of a sequence, as if the state before each
// had been zero; but the first, which starts from the sequence's own.
struct Segments {
  float* states;   // [slot][head][tile][warp][dstate / 4][lane]
  float* initial;  // the same of sequences
  double* decays;  // [slot][head]: logarithm to base 2
};

struct Workspace {
  Chunks chunks;
  Segments segments;
  size_t bytes;
};

inline Workspace lay_out(const SsdChunkScan::Problem& p, const Cut& c, std::byte* memory) {
  Workspace w{};
  const auto take = [&]<class T>(T*& piece, int64_t count) {
    piece = reinterpret_cast<T*>(memory + w.bytes);
    w.bytes += static_cast<size_t>(count * static_cast<int64_t>(sizeof(T)) + 255) / 256 * 256;
  };
  const int64_t records = c.chunk_slots * p.ngroups;
  const int64_t state = int64_t{16} * c.row_tiles * c.tiles * c.dstate * p.nheads;
  take(w.chunks.operands, records * 2 * c.parts * kChunk * c.dstate);
  take(w.chunks.scores, records * kChunk * kChunk);
  take(w.chunks.exponents, records * 8);
  take(w.segments.states, c.cut ? c.segment_slots * state : 0);
  take(w.segments.initial, c.cut ? p.nseq * state : 0);
  take(w.segments.decays, c.cut ? c.segment_slots * p.nheads : 0);
  return w;
}

}  // namespace hiss::cuda::ssd_chunk_scan
