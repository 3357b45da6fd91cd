// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/channels.cuh"
#include "cuda/causal_conv1d/sequence_table.cuh"
#include "cuda/tile/divide.cuh"

// Packed sequences of channels-first tensors, turned in shared memory: a block has a tile of
// channels and tokens, a lane a channel and a run of its tokens. So a warp meets the begin or the
// end of a sequence in all its lanes at once, and their states lie beside each other.
namespace hiss::cuda {

// Of kChannels channels and two runs of kRun tokens; places count in the order of consumption.
template <class Element, int kTileChannels, bool kVectors>
struct PackedTile {
  using T = Element;
  static constexpr int kChannels = kTileChannels, kRun = 32, kTokens = 2 * kRun,
                       kThreads = 2 * kChannels;
  // The tokens before a tile are loaded with it, a vector of them.
  static constexpr int kBefore = kWidest<T>, kLoaded = kTokens + kBefore;
  static constexpr int kInWord = 4 / static_cast<int>(sizeof(T));
  // An odd number of words from channel to channel: lanes meet in no bank.
  static constexpr int kPitch = kLoaded + kInWord;
  static constexpr int kMoved = kVectors ? kWidest<T> : 1;  // elements of global accesses
  // A thread's accesses to a tile, how many of them are under way at once, and those to what is
  // before it.
  static constexpr int kAccesses = kChannels * kTokens / kMoved / kThreads,
                       kAtOnce = kAccesses < 8 ? kAccesses : 8,
                       kMoreLoads = (kChannels * kBefore / kMoved + kThreads - 1) / kThreads;
  static_assert(kPitch / kInWord % 2 == 1);

  // Place `j` of the tile in a row of the tile's memory.
  template <bool kReverse>
  __device__ static constexpr int at(int j) {
    return kReverse ? kTokens - 1 - j : kBefore + j;
  }
};

// kStates: sequences have states before or after them.
template <class Tile, int kWidth, bool kReverse, bool kSilu, bool kStates>
__global__ void __launch_bounds__(Tile::kThreads)
    conv_packed_tiles(const __grid_constant__ Conv conv, const __grid_constant__ Divider by_group) {
  using T = typename Tile::T;
  using Thread = Channels<T, 1, kWidth>;
  using One = Raw<T, 1>;
  using Moved = Raw<T, Tile::kMoved>;
  constexpr int kHistory = kWidth - 1, kStep = 8;
  __shared__ alignas(16) T memory[Tile::kChannels * Tile::kPitch];
  __shared__ SequenceTable<Tile::kTokens> table;
  wait_for_kernels_before();
  let_next_kernel_start();
  int64_t group;
  const int64_t first = by_group.divide(blockIdx.x, group) * Tile::kTokens;
  const int64_t first_channel = group * Tile::kChannels;
  const int channels = static_cast<int>(min(conv.dim - first_channel, int64_t{Tile::kChannels}));
  // The token at the begin of a row of the tile's memory.
  const int64_t origin = kReverse ? conv.seqlen - first - Tile::kTokens : first - Tile::kBefore;
  // Calls f(token, channel, place in shared memory) for the n-th that a thread moves of `kCount`
  // tokens from `kFrom` on of the tile's memory.
  const auto visit = [&]<int kFrom, int kCount>(int n, auto&& f) {
    constexpr unsigned kOfRow = kCount / Tile::kMoved;
    const unsigned i = threadIdx.x + static_cast<unsigned>(n) * Tile::kThreads;
    const int its_row = static_cast<int>(i / kOfRow);
    const int at = kFrom + static_cast<int>(i % kOfRow) * Tile::kMoved;
    const int64_t token = origin + at;
    if (its_row < channels && token >= 0 && token < conv.seqlen)
      f(token, first_channel + its_row, its_row * Tile::kPitch + at);
  };
  constexpr int kFirst = kReverse ? 0 : Tile::kBefore, kEarlier = kReverse ? Tile::kTokens : 0;
  using Word = typename Moved::Word;
  const auto load = [&](Moved& moved) {
    return [&](int64_t token, int64_t channel, int) {
      moved = Moved::at(static_cast<const T*>(conv.x) + channel * conv.x_stride[2] + token);
    };
  };
  const auto keep = [&](const Moved& moved) {
    return [&](int64_t, int64_t, int at) {
#pragma unroll
      for (int i = 0; i < Moved::kWords; ++i)
        reinterpret_cast<Word*>(memory + at)[i] = moved.word[i];
    };
  };
  Moved more[Tile::kMoreLoads];
#pragma unroll
  for (int n = 0; n < Tile::kMoreLoads; ++n)
    visit.template operator()<kEarlier, Tile::kBefore>(n, load(more[n]));
#pragma unroll 1
  for (int done = 0; done < Tile::kAccesses; done += Tile::kAtOnce) {
    Moved moved[Tile::kAtOnce];
#pragma unroll
    for (int n = 0; n < Tile::kAtOnce; ++n)
      visit.template operator()<kFirst, Tile::kTokens>(done + n, load(moved[n]));
    if (done == 0) table.template fill<kHistory>(conv, first, Tile::kTokens);
#pragma unroll
    for (int n = 0; n < Tile::kAtOnce; ++n)
      visit.template operator()<kFirst, Tile::kTokens>(done + n, keep(moved[n]));
  }
#pragma unroll
  for (int n = 0; n < Tile::kMoreLoads; ++n)
    visit.template operator()<kEarlier, Tile::kBefore>(n, keep(more[n]));
  __syncthreads();

  const int lane = static_cast<int>(threadIdx.x) % Tile::kChannels;
  const int run = static_cast<int>(threadIdx.x) / Tile::kChannels * Tile::kRun;
  const int64_t channel = first_channel + min(lane, channels - 1);
  const int count =
      lane < channels ? static_cast<int>(min(int64_t{Tile::kRun}, conv.seqlen - first - run)) : 0;
  Thread thread(conv, channel);
  T* row = memory + lane * Tile::kPitch;
  {
    One before[kHistory];
#pragma unroll
    for (int j = 0; j < kHistory; ++j)
      before[j] = One::at(row + Tile::template at<kReverse>(run + j - kHistory));
    thread.begin(before);
  }
  __syncthreads();  // The other run's threads overwrite what was read.
  if (count > 0) {
    typename Thread::Inputs earlier;
    if (const int since = table.since[run]; since < kHistory) {
      Thread::load_earlier(conv, channel, table.s[run], since, earlier);
      thread.put_earlier(since, earlier);
    }
    const uint32_t begins = table.begin_bits[run / 32], ends = table.end_bits[run / 32];
    const auto put = [&](int j) {
      T* at = row + Tile::template at<kReverse>(run + j);
      const One newest = One::at(at);
      thread.template put<kSilu>(newest, at, true);
    };
    // What lies past the last token is filtered, too, and goes nowhere.
    for (int from = 0; from < count; from += kStep) {
      // What has to be done beside tokens of this step.
      const uint32_t special =
          begins >> from >> 1 | (kStates && conv.final != nullptr ? ends >> from : 0);
      if ((special & ((1u << kStep) - 1)) == 0) {
#pragma unroll
        for (int j = from; j < from + kStep; ++j) put(j);
      } else if constexpr (!kStates) {
#pragma unroll
        for (int j = from; j < from + kStep; ++j) {
          put(j);
          if ((begins >> j >> 1 & 1) != 0) thread.put_earlier(0, {});
        }
      } else {
#pragma unroll 1
        for (int j = from; j < min(from + kStep, count); ++j) {
          // On its way while the token before is computed.
          const bool begins_next = j + 1 < count && (begins >> j >> 1 & 1) != 0;
          if (begins_next) Thread::load_earlier(conv, channel, table.s[run + j + 1], 0, earlier);
          put(j);
          // Where the initial state is its memory this thread must be the only one that reads it.
          if (conv.final != nullptr && (ends >> j & 1) != 0 &&
              (!conv.in_place || (begins & ((2u << j) - 1)) != 0))
            thread.store_history(conv, table.s[run + j]);
          if (begins_next) thread.put_earlier(0, earlier);
        }
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < Tile::kAccesses; ++n)
    visit.template operator()<kFirst, Tile::kTokens>(
        n, [&](int64_t token, int64_t its_channel, int at) {
          Moved result;
#pragma unroll
          for (int i = 0; i < Moved::kWords; ++i)
            result.word[i] = reinterpret_cast<const Word*>(memory + at)[i];
          result.store(static_cast<T*>(conv.y) + its_channel * conv.y_stride[2] + token);
        });
}

}  // namespace hiss::cuda
