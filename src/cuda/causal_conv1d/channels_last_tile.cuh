// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/channels.cuh"
#include "cuda/tile/divide.cuh"

// How channels-last tensors are cut into tiles of tokens, one for each thread.
namespace hiss::cuda::causal_conv1d {

constexpr int kLeastLaneBits = 3;

struct Cut {
  Divider by_group;        // blocks side by side over the channels
  Divider by_tile;         // tiles of a row
  int lane_bits;           // a block has 2^lane_bits vectors of a token
  int tokens;              // of a tile, more than the inputs before it that it needs
  int64_t x_step, y_step;  // from token to token, in the order of consumption
};

// What a row is: a sequence with zeros before it and no use for its state; one with a state before
// or after it; or any number of sequences: the joined rows of a batch, or such as begin anywhere.
enum class Rows { kPlain, kStates, kShort, kSequences };

// A thread's tile of kVector channels. Places count in the order of consumption.
template <int kVector, int kThreads>
struct Tile {
  __device__ __forceinline__ Tile(const Conv& conv, const Cut& cut) {
    int64_t group, tile;
    const int tiles_of_block = kThreads >> cut.lane_bits;
    first_of_block = cut.by_group.divide(blockIdx.x, group) * tiles_of_block;
    const int lane = static_cast<int>(threadIdx.x) & ((1 << cut.lane_bits) - 1);
    of_block = static_cast<int>(threadIdx.x) >> cut.lane_bits;
    row = cut.by_tile.divide(first_of_block + of_block, tile);
    channel = ((group << cut.lane_bits) + lane) * kVector;
    outside = row >= conv.batch || channel >= conv.dim;
    place = tile * cut.tokens;
    const int64_t left = outside ? 0 : conv.seqlen - place;
    count = static_cast<int>(max(min(int64_t{cut.tokens}, left), int64_t{0}));
    token = conv.reverse ? conv.seqlen - 1 - place : place;
  }
  // Of the tile's first token in x or y.
  __device__ __forceinline__ int64_t offset(const int64_t (&stride)[3]) const {
    return row * stride[0] + token * stride[1] + channel;
  }

  int64_t first_of_block;  // tile of the block
  int of_block;            // its number in the block
  int64_t row, channel, place, token;
  int count;     // of its tokens
  bool outside;  // of the tensors
};

}  // namespace hiss::cuda::causal_conv1d
