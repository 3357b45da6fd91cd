// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>

#include "cuda/causal_conv1d/channels.cuh"
#include "cuda/causal_conv1d/launches.cuh"
#include "cuda/causal_conv1d/sequence_table.cuh"
#include "cuda/tile/divide.cuh"

// The kernel of lanes_over_dim.cu and its launches. A source a type instantiates them.
namespace hiss::cuda::causal_conv1d {

struct Cut {
  Divider by_group;  // blocks side by side over the channels
  Divider by_tile;   // tiles of a row
  int lane_bits;     // a block has 2^lane_bits vectors of a token
  int steps;         // a tile has this times F::kTokens tokens
};

// What a thread has, and how many blocks of how many threads share a multiprocessor.
// kWalk: a tile may have several steps, the inputs of the next on their way.
template <class Element, int kChannels, int kStepTokens, int kBlockThreads, int kLeastBlocks,
          bool kWalk>
struct Form {
  using T = Element;
  static constexpr int kVector = kChannels, kTokens = kStepTokens, kThreads = kBlockThreads,
                       kBlocks = kLeastBlocks;
  static constexpr bool kWalks = kWalk;
  static_assert(32 % kTokens == 0);
};
constexpr int kLeastLaneBits = 3;

// What a row is: a sequence with zeros before it and no use for its state; one with a state before
// or after it; or any number of sequences, which begin in any token.
enum class Rows { kPlain, kStates, kSequences };

template <class F, int kWidth, Rows kRows, bool kSilu>
__global__ void __launch_bounds__(F::kThreads, F::kBlocks)
    conv_lanes_over_dim(const __grid_constant__ Conv conv, const __grid_constant__ Cut cut) {
  using T = typename F::T;
  using Thread = Channels<T, F::kVector, kWidth>;
  using Vector = typename Thread::Vector;
  constexpr int kHistory = kWidth - 1, kTokens = F::kTokens;
  constexpr bool kSequences = kRows == Rows::kSequences, kWalks = F::kWalks && !kSequences;
  wait_for_kernels_before();
  let_next_kernel_start();
  int64_t group, tile;
  const int tiles_of_block = F::kThreads >> cut.lane_bits;
  const int64_t first_tile = cut.by_group.divide(blockIdx.x, group) * tiles_of_block;
  const int lane = static_cast<int>(threadIdx.x) & ((1 << cut.lane_bits) - 1);
  const int its_tile = static_cast<int>(threadIdx.x) >> cut.lane_bits;
  const int64_t row = cut.by_tile.divide(first_tile + its_tile, tile);
  const int64_t channel = ((group << cut.lane_bits) + lane) * F::kVector;
  const bool outside = row >= conv.batch || channel >= conv.dim;
  // Places count in the order of consumption.
  const int tile_tokens = kWalks ? cut.steps * kTokens : kTokens;
  const int64_t place = tile * tile_tokens;
  const int count =
      outside ? 0
              : static_cast<int>(max(min(int64_t{tile_tokens}, conv.seqlen - place), int64_t{0}));
  const int64_t token = conv.reverse ? conv.seqlen - 1 - place : place;
  const int64_t x_step = conv.reverse ? -conv.x_stride[1] : conv.x_stride[1];
  const int64_t y_step = conv.reverse ? -conv.y_stride[1] : conv.y_stride[1];

  typename Thread::Inputs earlier;
  if (kRows == Rows::kStates && place == 0 && !outside) {
    Thread::load_earlier(conv, channel, row, 0, earlier);
    if (conv.final != nullptr)
      store_final<T, F::kVector, kWidth>(conv, {row, row, 0, conv.seqlen}, channel);
  }
  Vector before[kHistory], now[kTokens], next[kWalks ? kTokens : 1];
  const T* x = static_cast<const T*>(conv.x) + row * conv.x_stride[0] + token * conv.x_stride[1] +
               channel - kHistory * x_step;
#pragma unroll
  for (int j = 0; j < kHistory; ++j, x += x_step)
    before[j] = count > 0 && place + j >= kHistory ? Vector::at(x) : Vector{};
  const auto load = [&](auto& to, int left) {
#pragma unroll
    for (int j = 0; j < kTokens; ++j, x += x_step)
      if (j < left) to[j] = Vector::at(x);
  };
  load(now, count);

  Thread thread(conv, min(channel, conv.dim - F::kVector));
  thread.begin(before);

  __shared__
      std::conditional_t<kSequences, SequenceTable<(F::kThreads >> kLeastLaneBits) * kTokens>, char>
          table;
  if constexpr (kSequences) {
    table.template fill<kHistory>(conv, first_tile * kTokens, tiles_of_block * kTokens);
    __syncthreads();
  }
  if (outside) return;

  T* y = static_cast<T*>(conv.y) + row * conv.y_stride[0] + token * conv.y_stride[1] + channel;
  const auto put = [&](const auto& from, int left) {
#pragma unroll
    for (int j = 0; j < kTokens; ++j, y += y_step) thread.template put<kSilu>(from[j], y, j < left);
  };
  if constexpr (kSequences) {
    const int at = its_tile * kTokens;
    const uint32_t begins = table.begins(at), ends = table.ends(at);
    if (count > 0 && table.since[at] < kHistory) {
      Thread::load_earlier(conv, channel, table.s[at], table.since[at], earlier);
      thread.put_earlier(table.since[at], earlier);
    }
    const uint32_t mine = count > 0 ? (uint32_t{2} << (count - 1)) - 1 : 0;
    if ((begins & mine & ~1u) == 0 && (conv.final == nullptr || (ends & mine) == 0))
      return put(now, count);
#pragma unroll
    for (int j = 0; j < kTokens; ++j, y += y_step) {
      // On its way while the token before is computed.
      const bool begins_next = j + 1 < count && (begins >> (j + 1) & 1) != 0;
      if (begins_next) Thread::load_earlier(conv, channel, table.s[at + j + 1], 0, earlier);
      thread.template put<kSilu>(now[j], y, j < count);
      // Where the initial state is its memory this thread must be the only one that reads it.
      if (j < count && (ends >> j & 1) != 0 && conv.final != nullptr &&
          (!conv.in_place || (begins & ((2u << j) - 1)) != 0))
        thread.store_history(conv, table.s[at + j]);
      if (begins_next) thread.put_earlier(0, earlier);
    }
  } else {
    if (kRows == Rows::kStates && place == 0) thread.put_earlier(0, earlier);
    if constexpr (kWalks) {
      for (int left = count;; left -= 2 * kTokens) {
        load(next, left - kTokens), put(now, left);
        if (left <= kTokens) return;
        load(now, left - 2 * kTokens), put(next, left - kTokens);
        if (left <= 2 * kTokens) return;
      }
    } else {
      put(now, count);
    }
  }
}

template <class F, int kWidth>
Status launch_conv(const Conv& conv, int lane_bits, cudaStream_t stream) {
  // A row without tokens still has a state to hand on.
  const int64_t all_steps = std::max<int64_t>(ceil_div(conv.seqlen, F::kTokens), 1);
  const int64_t vectors = conv.dim / F::kVector;
  while (lane_bits > kLeastLaneBits && int64_t{1} << (lane_bits - 1) >= vectors) --lane_bits;
  const int64_t groups = ceil_div(vectors, int64_t{1} << lane_bits);
  const int64_t steps = F::kWalks && conv.sequences.in_rows() ? std::min<int64_t>(all_steps, 2) : 1;
  const int64_t tiles = ceil_div(all_steps, steps);
  const int64_t blocks = ceil_div(conv.batch * tiles, F::kThreads >> lane_bits) * groups;
  if (blocks == 0) return {};
  const Cut cut{Divider(groups), Divider(tiles), lane_bits, static_cast<int>(steps)};
  const auto with = [&]<bool kSilu>() {
    if (!conv.sequences.in_rows()) return conv_lanes_over_dim<F, kWidth, Rows::kSequences, kSilu>;
    return conv.initial != nullptr || conv.final != nullptr
               ? conv_lanes_over_dim<F, kWidth, Rows::kStates, kSilu>
               : conv_lanes_over_dim<F, kWidth, Rows::kPlain, kSilu>;
  };
  const auto function =
      conv.silu ? with.template operator()<true>() : with.template operator()<false>();
  start_overlapped(function, static_cast<unsigned>(blocks), F::kThreads, 0, stream, conv, cut);
  HISS_RETURN_IF_ERROR(launched(kLanesOverDim));
  // Only lists may have empty sequences.
  const bool all_stored =
      conv.sequences.in_rows() || (conv.sequences.cu_seqlens == nullptr && !conv.in_place);
  return all_stored ? Status()
                    : launch_final_state<typename F::T>(kLanesOverDim, conv, stream, F::kTokens);
}

template <class F>
Status launch_width(const Conv& conv, int lane_bits, cudaStream_t stream) {
  switch (conv.width) {
    case 2:
      return launch_conv<F, 2>(conv, lane_bits, stream);
    case 3:
      return launch_conv<F, 3>(conv, lane_bits, stream);
    default:
      return launch_conv<F, 4>(conv, lane_bits, stream);
  }
}

// Measured: 16-bit types want more bytes a thread where there are enough of them.
template <class T>
Status launch_lanes_over_dim(const CausalConv1d::Args& args, const Conv& conv,
                             cudaStream_t stream) {
  constexpr int kLaneBits = 5;
  const auto fits = [&](int vector) {
    const auto bytes = vector * static_cast<int64_t>(sizeof(T));
    return conv.dim % vector == 0 && aligned_rows(args.x, 2, bytes) &&
           aligned_rows(args.y, 2, bytes);
  };
  if constexpr (sizeof(T) == 2) {
    constexpr int64_t kMany = int64_t{5} << 19, kMost = int64_t{10} << 20;
    const int64_t elements = conv.batch * conv.seqlen * conv.dim;
    if (fits(4) && !conv.sequences.in_rows())
      return launch_width<Form<T, 4, 8, 128, 6, false>>(conv, kLaneBits, stream);
    if (fits(4) && elements >= kMost)
      return launch_width<Form<T, 4, 8, 128, 5, true>>(conv, kLaneBits, stream);
    if (fits(2) && elements >= kMany)
      return launch_width<Form<T, 2, 8, 256, 4, true>>(conv, kLaneBits, stream);
  }
  return fits(2) ? launch_width<Form<T, 2, 8, 256, 4, false>>(conv, kLaneBits, stream)
                 : launch_width<Form<T, 1, 8, 256, 4, false>>(conv, kLaneBits, stream);
}

}  // namespace hiss::cuda::causal_conv1d
