// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/channels_last_tile.cuh"
#include "cuda/causal_conv1d/sequence_table.cuh"
#include "cuda/tile/async_copy.cuh"

// Tiles whose inputs pass through shared memory, where each thread has a ring for its own: it waits
// for no other, and many inputs are under way while few registers are taken.
namespace hiss::cuda::causal_conv1d {

// What a thread has, and how many blocks of how many threads share a multiprocessor.
template <class Element, int kChannels, int kStepTokens, int kRingSteps, int kBlockThreads,
          int kLeastBlocks>
struct RingForm {
  using T = Element;
  static constexpr int kVector = kChannels, kTokens = kStepTokens, kSteps = kRingSteps,
                       kTileTokens = kTokens * kSteps, kThreads = kBlockThreads,
                       kBlocks = kLeastBlocks;
  static constexpr bool kInRing = true;
  static constexpr size_t kBytes = sizeof(T) * kVector * kTileTokens * kThreads;
};

// copy_async() to an address that is known already: finding one takes instructions.
template <int kBytes>
__device__ __forceinline__ void copy_to_shared(const void* from, uint32_t to) {
  static_assert(kBytes == 4 || kBytes == 8);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(kBytes)
               : "memory");
}

template <class F, int kWidth, Rows kRows, bool kSilu>
__global__ void __launch_bounds__(F::kThreads, F::kBlocks)
    conv_tiles_in_ring(const __grid_constant__ Conv conv, const __grid_constant__ Cut cut,
                       const __grid_constant__ ShortRows short_rows) {
  using T = typename F::T;
  using Thread = Channels<T, F::kVector, kWidth>;
  using Vector = typename Thread::Vector;
  constexpr int kHistory = kWidth - 1, kTokens = F::kTokens, kSlots = F::kTileTokens;
  extern __shared__ __align__(16) unsigned char shared[];
  const Vector* ring = reinterpret_cast<const Vector*>(shared) + threadIdx.x;
  const auto ring_address = static_cast<uint32_t>(__cvta_generic_to_shared(ring));
  wait_for_kernels_before();
  let_next_kernel_start();
  const Tile<F::kVector, F::kThreads> tile(conv, cut);
  const bool at_begin = kRows == Rows::kStates && tile.place == 0 && !tile.outside;
  typename Thread::Inputs earlier;
  if (at_begin) {
    Thread::load_earlier(conv, tile.channel, tile.row, 0, earlier);
    if (conv.final != nullptr)
      store_final<T, F::kVector, kWidth>(conv, {tile.row, tile.row, 0, conv.seqlen}, tile.channel);
  }
  if (tile.count == 0 && kRows != Rows::kSequences) return;

  Vector before[kHistory] = {};
  const T* x = static_cast<const T*>(conv.x) + tile.offset(conv.x_stride);
  if (tile.count > 0 && tile.place > 0) {
#pragma unroll
    for (int j = 0; j < kHistory; ++j) before[j] = Vector::at(x - (kHistory - j) * cut.x_step);
  }
  // A group of copies for each step, whether it has tokens or not.
  constexpr uint32_t kSlotBytes = sizeof(Vector) * F::kThreads;
  int to_load = tile.count, loaded_slot = 0;
  const auto load_step = [&] {
    const uint32_t address = ring_address + loaded_slot * kSlotBytes;
#pragma unroll
    for (int j = 0; j < kTokens; ++j, x += cut.x_step)
      if (j < to_load) copy_to_shared<sizeof(Vector)>(x, address + j * kSlotBytes);
    commit_copies();
    to_load -= kTokens;
    loaded_slot = loaded_slot + kTokens == kSlots ? 0 : loaded_slot + kTokens;
  };
#pragma unroll
  for (int i = 0; i < F::kSteps - 1; ++i) load_step();

  Thread thread(conv, min(tile.channel, conv.dim - F::kVector));
  thread.begin(before);
  if (at_begin) thread.put_earlier(0, earlier);
  T* y = static_cast<T*>(conv.y) + tile.offset(conv.y_stride);
  // Calls f(inputs of a step, tokens that are left).
  const auto walk = [&](auto&& f) {
    int slot = 0;
    for (int left = tile.count; left > 0; left -= kTokens) {
      load_step();
      wait_copies<F::kSteps - 1>();
      Vector now[kTokens];
#pragma unroll
      for (int j = 0; j < kTokens; ++j) now[j] = ring[(slot + j) * F::kThreads];
      f(now, left);
      slot = slot + kTokens == kSlots ? 0 : slot + kTokens;
    }
  };
  const auto put = [&](const Vector(&now)[kTokens], int left) {
#pragma unroll
    for (int j = 0; j < kTokens; ++j, y += cut.y_step)
      thread.template put<kSilu>(now[j], y, j < left);
  };
  const auto walk_sequences = [&](const auto& in_tile) {
    if (const int since = in_tile.since(); since < kHistory) {
      Thread::load_earlier(conv, tile.channel, in_tile.s(0), since, earlier);
      thread.put_earlier(since, earlier);
    }
    walk([&](const Vector(&now)[kTokens], int left) {
      const int from = tile.count - left;
      const uint32_t begins = in_tile.begins(), ends = conv.final == nullptr ? 0 : in_tile.ends();
      // What has to be done beside tokens of this step.
      const uint32_t here = (uint32_t{1} << min(left, kTokens)) - 1;
      if (((begins >> from >> 1 | ends >> from) & here) == 0) return put(now, left);
#pragma unroll
      for (int j = 0; j < kTokens; ++j, y += cut.y_step) {
        const int at = from + j;
        // On its way while the token before is computed.
        const bool begins_next = j + 1 < left && (begins >> at >> 1 & 1) != 0;
        if (begins_next) Thread::load_earlier(conv, tile.channel, in_tile.s(at + 1), 0, earlier);
        thread.template put<kSilu>(now[j], y, j < left);
        // Where the initial state is its memory this thread must be the only one that reads it.
        if (j < left && (ends >> at & 1) != 0 &&
            (!conv.in_place || (begins & ((2u << at) - 1)) != 0))
          thread.store_history(conv, in_tile.s(at));
        if (begins_next) thread.put_earlier(0, earlier);
      }
    });
  };
  if constexpr (kRows == Rows::kSequences) {
    using Table = SequenceTable<(F::kThreads >> kLeastLaneBits) * kSlots>;
    __shared__ Table table;
    const int tiles = F::kThreads >> cut.lane_bits;
    table.template fill<kHistory>(conv, tile.first_of_block * kSlots, tiles * kSlots);
    __syncthreads();
    if (tile.count > 0) walk_sequences(TileOfTable<Table>{table, tile.of_block * kSlots});
  } else if constexpr (kRows == Rows::kShort) {
    walk_sequences(TileOfShortRows(conv, short_rows, tile.place));
  } else {
    walk(put);
  }
}

}  // namespace hiss::cuda::causal_conv1d
