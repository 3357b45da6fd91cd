// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/channels_last_tile.cuh"
#include "cuda/causal_conv1d/sequence_table.cuh"

// Tiles of which a thread has all inputs in registers before the first is used.
namespace hiss::cuda::causal_conv1d {

// What a thread has, and how many blocks of how many threads share a multiprocessor.
template <class Element, int kChannels, int kTokens, int kBlockThreads, int kLeastBlocks>
struct Form {
  using T = Element;
  static constexpr int kVector = kChannels, kTileTokens = kTokens, kThreads = kBlockThreads,
                       kBlocks = kLeastBlocks;
  static constexpr bool kInRing = false;
  static constexpr size_t kBytes = 0;  // of shared memory that a launch asks for
  static_assert(32 % kTokens == 0);
};
template <class F, int kWidth, Rows kRows, bool kSilu>
__global__ void __launch_bounds__(F::kThreads, F::kBlocks)
    conv_tiles_in_registers(const __grid_constant__ Conv conv, const __grid_constant__ Cut cut,
                            const __grid_constant__ ShortRows short_rows) {
  using T = typename F::T;
  using Thread = Channels<T, F::kVector, kWidth>;
  using Vector = typename Thread::Vector;
  constexpr int kHistory = kWidth - 1, kTokens = F::kTileTokens;
  wait_for_kernels_before();
  let_next_kernel_start();
  const Tile<F::kVector, F::kThreads> tile(conv, cut);
  const int count = tile.count;

  typename Thread::Inputs earlier;
  if (kRows == Rows::kStates && tile.place == 0 && !tile.outside) {
    Thread::load_earlier(conv, tile.channel, tile.row, 0, earlier);
    if (conv.final != nullptr)
      store_final<T, F::kVector, kWidth>(conv, {tile.row, tile.row, 0, conv.seqlen}, tile.channel);
  }
  Vector before[kHistory], now[kTokens];
  const T* x = static_cast<const T*>(conv.x) + tile.offset(conv.x_stride) - kHistory * cut.x_step;
#pragma unroll
  for (int j = 0; j < kHistory; ++j, x += cut.x_step)
    before[j] = count > 0 && tile.place > 0 ? Vector::at(x) : Vector{};
#pragma unroll
  for (int j = 0; j < kTokens; ++j, x += cut.x_step)
    if (j < count) now[j] = Vector::at(x);

  Thread thread(conv, min(tile.channel, conv.dim - F::kVector));
  thread.begin(before);

  using Table = SequenceTable<(F::kThreads >> kLeastLaneBits) * kTokens>;
  constexpr bool kLookedUp = kRows == Rows::kSequences;
  __shared__ std::conditional_t<kLookedUp, Table, char> table;
  if constexpr (kLookedUp) {
    const int tiles = F::kThreads >> cut.lane_bits;
    table.template fill<kHistory>(conv, tile.first_of_block * kTokens, tiles * kTokens);
    __syncthreads();
  }
  if (tile.outside) return;

  T* y = static_cast<T*>(conv.y) + tile.offset(conv.y_stride);
  const auto put = [&] {
#pragma unroll
    for (int j = 0; j < kTokens; ++j, y += cut.y_step)
      thread.template put<kSilu>(now[j], y, j < count);
  };
  const auto put_sequences = [&](const auto& in_tile) {
    const uint32_t begins = in_tile.begins(), ends = in_tile.ends();
    const int since = in_tile.since();
    if (count > 0 && since < kHistory) {
      Thread::load_earlier(conv, tile.channel, in_tile.s(0), since, earlier);
      thread.put_earlier(since, earlier);
    }
    const uint32_t mine = count > 0 ? (uint32_t{2} << (count - 1)) - 1 : 0;
    if ((begins & mine & ~1u) == 0 && (conv.final == nullptr || (ends & mine) == 0)) return put();
#pragma unroll
    for (int j = 0; j < kTokens; ++j, y += cut.y_step) {
      // On its way while the token before is computed.
      const bool begins_next = j + 1 < count && (begins >> (j + 1) & 1) != 0;
      if (begins_next) Thread::load_earlier(conv, tile.channel, in_tile.s(j + 1), 0, earlier);
      thread.template put<kSilu>(now[j], y, j < count);
      // Where the initial state is its memory this thread must be the only one that reads it.
      if (j < count && (ends >> j & 1) != 0 && conv.final != nullptr &&
          (!conv.in_place || (begins & ((2u << j) - 1)) != 0))
        thread.store_history(conv, in_tile.s(j));
      if (begins_next) thread.put_earlier(0, earlier);
    }
  };
  if constexpr (kLookedUp) {
    put_sequences(TileOfTable<Table>{table, tile.of_block * kTokens});
  } else if constexpr (kRows == Rows::kShort) {
    put_sequences(TileOfShortRows(conv, short_rows, tile.place));
  } else {
    if (kRows == Rows::kStates && tile.place == 0) thread.put_earlier(0, earlier);
    put();
  }
}

}  // namespace hiss::cuda::causal_conv1d
