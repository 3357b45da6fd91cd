// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/sequences.h"
#include "cpu/simd/plane.h"
#include "hiss/ops/ssd_chunk_scan.h"

// How the Mamba-2 scan is cut, for all instruction sets: nothing here is compiled for one of them.
//
// The heads of a group share B and C, so a group is one row of ngroup_channels = heads * headdim
// channels, whatever headdim is. It is cut into blocks, and the tokens into tiles.
namespace hiss::cpu::ssd {

inline constexpr int64_t kBlockChannels = 128;
inline constexpr int64_t kTileTokens = 32;
// Floats from one row of a block to the next. A vector that starts in the block may end behind it,
// and rows a power of two apart would meet in the same sets of the cache.
inline constexpr int64_t kRow = kBlockChannels + 16;
// Blocks are dealt out in this many runs at most, each with a Scratch.
inline constexpr int64_t kMaxRuns = 64;

struct Blocks {
  int64_t headdim, group_heads, per_group, count;
  int64_t group_channels() const { return group_heads * headdim; }
};
inline Blocks blocks_of(int64_t nheads, int64_t headdim, int64_t ngroups) {
  const int64_t channels = nheads / ngroups * headdim;
  const int64_t per_group = (channels + kBlockChannels - 1) / kBlockChannels;
  return {headdim, nheads / ngroups, per_group, per_group * ngroups};
}

// Channels [first, first + channels) of a group.
struct Block {
  int64_t group, first, channels;
};
inline Block block_at(const Blocks& blocks, int64_t i) {
  const int64_t first = i % blocks.per_group * kBlockChannels;
  return {i / blocks.per_group, first, std::min(kBlockChannels, blocks.group_channels() - first)};
}

// Channels [p, p + channels) of one head.
struct HeadSegment {
  int64_t head, p, channels;
};
// Those of a block: of its `local`-th head, in columns from `column` on.
struct Segment : HeadSegment {
  int64_t local, column;
};
template <class Body>
void for_each_segment(const Blocks& blocks, const Block& block, Body&& body) {
  int64_t local = 0;
  for (int64_t column = 0; column < block.channels; ++local) {
    const int64_t channel = block.first + column, p = channel % blocks.headdim;
    const int64_t channels = std::min(blocks.headdim - p, block.channels - column);
    const int64_t head = block.group * blocks.group_heads + channel / blocks.headdim;
    body(Segment{{head, p, channels}, local, column});
    column += channels;
  }
}

// What a run of blocks works in. Rows are tokens or states, columns channels of the block; columns
// behind the block hold whatever is there.
struct alignas(64) Scratch {
  float x[kTileTokens * kRow];            // x * delta / scale
  float y[kTileTokens * kRow];            // sum_n C[n] h[n]
  float factors[2 * kTileTokens * kRow];  // a row for each rescaling of the state
  float x_buffer[kTileTokens * kRow];     // where memory is no row of floats
  float y_buffer[kTileTokens * kRow];
  float z_buffer[kTileTokens * kRow];
  float D[kRow];
  // By head of the block:
  float delta[kBlockChannels * kTileTokens];        // (head, token)
  double log_decay[kBlockChannels * kTileTokens];   // delta * A
  double log_scales[kBlockChannels * kTileTokens];  // state = scale * h after each token
  float scale[kBlockChannels * kTileTokens];
  double log_rescale[2 * kTileTokens * kBlockChannels];  // (rescaling, head)
  float rescale[2 * kTileTokens * kBlockChannels];
  double log_scale[kBlockChannels];  // after the last token so far

  // Behind the struct: h (dstate, kRow), and B and C of a tile.
  float* h() { return reinterpret_cast<float*>(this + 1); }
  float* B_and_C(int64_t dstate) { return h() + dstate * kRow; }
  static size_t bytes(int64_t dstate) {
    const int64_t floats = dstate * (kRow + 2 * kTileTokens);
    return sizeof(Scratch) + static_cast<size_t>((floats + 15) / 16) * 64;
  }
};

inline int64_t runs_of(int64_t tasks) { return std::min(tasks, kMaxRuns); }

inline size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine&) {
  const Blocks blocks = blocks_of(p.nheads, p.headdim, p.ngroups);
  return static_cast<size_t>(runs_of(p.nseq * blocks.count)) * Scratch::bytes(p.dstate);
}

template <bool Machine::*kIsa>
Decline why_not(const SsdChunkScan::Problem& p, const Machine& machine) {
  if (!(machine.*kIsa)) return why::kIsa;
  // A strict 16-bit state is rounded after every token; registers keep it in F32.
  if (p.precision == Precision::kStrict && p.state_dtype != DType::kF32) return why::kStateDtype;
  return {};
}

// Tokens [begin, ...) of one head as (tokens, headdim).
template <class Void>
BasicPlane<Void> head_plane(const BasicTensorView<Void>& v, const Sequence& sequence, int64_t t,
                            int64_t head) {
  if (!v.present()) return {};
  const int64_t token = sequence.begin + t;
  return {advance(v.data, v.dtype,
                  sequence.row * v.stride[0] + token * v.stride[1] + head * v.stride[2]),
          v.dtype, v.stride[1], v.stride[3]};
}

// Rows of memory that will be wanted soon, to be brought near a few at a time.
struct Ahead {
  const std::byte* data = nullptr;
  int64_t stride = 0, bytes = 0, rows = 0;  // bytes from row to row, and of one
};
// Rows of `channels` channels from channel p on.
inline Ahead ahead_of(const Plane& plane, int64_t p, int64_t channels, int64_t rows) {
  if (plane.data == nullptr || plane.channel_stride != 1) return {};
  const int64_t size = size_of(plane.dtype);
  return {static_cast<const std::byte*>(plane_at(plane, 0, p).data), plane.token_stride * size,
          channels * size, rows};
}

// One head of states whose last three axes are (nheads, headdim, dstate), as (dstate, headdim).
template <class Void>
BasicPlane<Void> state_plane(const BasicTensorView<Void>& v, int64_t offset, int64_t head) {
  const int64_t* stride = v.stride.data() + v.rank - 3;
  return {advance(v.data, v.dtype, offset + head * stride[0]), v.dtype, stride[2], stride[1]};
}

inline int64_t checkpoints(const SsdChunkScan::Args& args) {
  return args.checkpoint_tokens.present() ? args.checkpoint_tokens.shape[0] : 0;
}

// How many tokens from `done` on make the next tile: `most`, no more than up to a checkpoint.
inline int64_t next_tile(const SsdChunkScan::Args& args, const Sequence& sequence, int64_t done,
                         int64_t most) {
  int64_t tokens = std::min(most, sequence.length - done);
  for (int64_t k = 0; k < checkpoints(args); ++k) {
    const int64_t t = index_at(args.checkpoint_tokens, k) - sequence.begin;
    if (t >= done) tokens = std::min(tokens, t - done + 1);
  }
  return tokens;
}

}  // namespace hiss::cpu::ssd
