// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/ssd_chunk_scan/blocks.h"
#include "hiss/ops/ssd_chunk_scan.h"

// How chunked.cc cuts the Mamba-2 scan: tokens into chunks, the channels of a head into segments,
// the segments of a group into tasks.
namespace hiss::cpu::ssd {

inline constexpr int64_t kMaxChunk = 64;
inline constexpr int64_t kPairs = kMaxChunk / 2;  // of tokens
inline constexpr int64_t kChunkBlock = 16;        // tokens that share an anchor of the decay
inline constexpr int64_t kMaxChunkRuns = 32;      // each with a ChunkScratch

inline int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// The chunk that costs least. Products a token and channel: dstate for the new state, dstate for
// what the old one gives, half of a chunk for the tokens within. A chunk reads, rounds and writes
// the state once, which takes as long as about seven products an element.
inline int64_t chunk_tokens(int64_t dstate) {
  const auto cost = [&](int64_t chunk) { return chunk / 2 + 7 * dstate / chunk; };
  int64_t best = kChunkBlock;
  for (int64_t chunk = 2 * best; chunk <= kMaxChunk; chunk += kChunkBlock)
    if (cost(chunk) < cost(best)) best = chunk;
  return best;
}

struct Chunks {
  int64_t headdim, dstate, group_heads, ngroups, nseq;
  int64_t tokens;  // of a chunk
  // A head is cut into segments of at most `width` channels, a multiple of a vector.
  int64_t per_head, width, per_group;
  int64_t per_task = 0, tasks_a_group = 0;  // segments a task
  int64_t task_channels() const { return per_task * width; }
  int64_t tasks() const { return tasks_a_group * ngroups * nseq; }
  int64_t runs() const { return std::min(tasks(), kMaxChunkRuns); }
};

// A task computes C B^T for its segments, and walks rows of x that share pages: the fewer tasks the
// better, while their states are not far beyond the second cache and each worker has as many.
inline Chunks chunks_of(int64_t nheads, int64_t headdim, int64_t ngroups, int64_t dstate,
                        int64_t nseq, int64_t workers) {
  constexpr int64_t kTaskChannels = 1536, kTaskStates = 192 << 10;
  Chunks c;
  c.headdim = headdim;
  c.dstate = dstate;
  c.group_heads = nheads / ngroups;
  c.ngroups = ngroups;
  c.nseq = nseq;
  c.tokens = chunk_tokens(dstate);
  c.per_head = (headdim + kBlockChannels - 1) / kBlockChannels;
  c.width = round_up((headdim + c.per_head - 1) / c.per_head, kChunkBlock);
  c.per_group = c.group_heads * c.per_head;
  const int64_t most =
      std::max<int64_t>(1, std::min(kTaskChannels, kTaskStates / dstate) / c.width);
  for (int64_t count = (c.per_group + most - 1) / most; count <= c.per_group; ++count) {
    c.per_task = (c.per_group + count - 1) / count;
    c.tasks_a_group = (c.per_group + c.per_task - 1) / c.per_task;
    if (c.tasks() % workers == 0 || c.tasks() >= 4 * workers) break;
  }
  return c;
}

inline HeadSegment chunk_segment(const Chunks& chunks, int64_t group, int64_t i) {
  const int64_t p = i % chunks.per_head * chunks.width;
  return {group * chunks.group_heads + i / chunks.per_head, p,
          std::min(chunks.width, chunks.headdim - p)};
}

// What a run of tasks works in. "Pairs" are two bf16 in the memory of a float, the lower half
// first: two tokens or two states of a sum. Behind the rows of a segment its channels are padded by
// zeros.
struct alignas(64) ChunkScratch {
  // Of a head or segment.
  float mixing[kMaxChunk * kPairs];  // (token, pairs of earlier tokens)
  float x[kPairs * kRow];            // (pairs of tokens, channel): delta * x
  float x_to_end[kPairs * kRow];     // decayed to the end of the chunk
  float y[kMaxChunk * kRow];
  float D[kRow];
  float x_buffer[kTileTokens * kRow], y_buffer[kTileTokens * kRow], z_buffer[kTileTokens * kRow];
  float delta[kMaxChunk], ones[kTileTokens];
  double log_decay[kMaxChunk];
  float log_sum[kMaxChunk];               // of the decays since the chunk began, own token included
  float from_start[kMaxChunk];            // exp of it
  float to_end[kMaxChunk];                // the decay from a token to the end of the chunk
  float products[kMaxChunk * kMaxChunk];  // C B^T, shared by the heads

  // Behind the struct, states padded to whole vectors, C and B of a chunk:
  struct Arrays {
    float* C;          // (token, pairs of states)
    float* B_rows;     // the same, on the way to
    float* B_tokens;   // (16 tokens, pairs of states, token)
    float* B_pairs;    // (pairs of tokens, state), on the way to
    float* B_states;   // (16 pairs of tokens, state, pair)
    float* h;          // (segment, state, channel)
    float* h_rounded;  // (segment, pairs of states, channel)
  };
  Arrays arrays(const Chunks& chunks) {
    float* at = reinterpret_cast<float*>(this + 1);
    const auto take = [&](int64_t floats) { return std::exchange(at, at + floats); };
    const int64_t pairs = kMaxChunk * state_pairs(chunks.dstate);
    const int64_t states = padded_states(chunks.dstate);
    Arrays a{};
    a.C = take(pairs);
    a.B_rows = take(pairs);
    a.B_tokens = take(pairs);
    a.B_pairs = take(kPairs * states);
    a.B_states = take(kPairs * states);
    a.h = take(chunks.task_channels() * states);
    a.h_rounded = take(chunks.task_channels() * states / 2);
    return a;
  }
  static size_t bytes(const Chunks& chunks) {
    const int64_t floats =
        3 * kMaxChunk * state_pairs(chunks.dstate) +
        padded_states(chunks.dstate) * (2 * kPairs + chunks.task_channels() * 3 / 2);
    return sizeof(ChunkScratch) + sizeof(float) * static_cast<size_t>(floats);
  }
  static int64_t padded_states(int64_t dstate) { return round_up(dstate, 16); }
  static int64_t state_pairs(int64_t dstate) { return round_up(dstate, 32) / 2; }  // a row's
};

}  // namespace hiss::cpu::ssd
