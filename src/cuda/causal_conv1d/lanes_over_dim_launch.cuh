// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>

#include "cuda/causal_conv1d/launches.cuh"
#include "cuda/causal_conv1d/tiles_in_registers.cuh"
#include "cuda/causal_conv1d/tiles_in_ring.cuh"

// The launches of lanes_over_dim.cu's kernels. A source a type instantiates them.
namespace hiss::cuda::causal_conv1d {

// Of 32 vectors a token: fewer where there are no more.
inline int lane_bits_of(int64_t vectors) {
  int bits = 5;
  while (bits > kLeastLaneBits && int64_t{1} << (bits - 1) >= vectors) --bits;
  return bits;
}

// Starts a block for each so many tiles of `tokens` by so many vectors of channels.
template <class F, class Function>
void start_tiles(Function* function, const Conv& conv, int64_t tokens, int64_t period,
                 cudaStream_t stream) {
  const int64_t vectors = conv.dim / F::kVector;
  const int lane_bits = lane_bits_of(vectors);
  const int64_t groups = ceil_div(vectors, int64_t{1} << lane_bits);
  // A row without tokens still has a state to hand on.
  const int64_t tiles = std::max<int64_t>(ceil_div(conv.seqlen, tokens), 1);
  const int64_t blocks = ceil_div(conv.batch * tiles, F::kThreads >> lane_bits) * groups;
  if (blocks == 0) return;
  const int64_t sign = conv.reverse ? -1 : 1;
  start_overlapped(function, static_cast<unsigned>(blocks), F::kThreads, F::kBytes, stream, conv,
                   Cut{Divider(groups), Divider(tiles), lane_bits, static_cast<int>(tokens),
                       sign * conv.x_stride[1], sign * conv.y_stride[1]},
                   ShortRows(period));
}

// Calls f.template operator()<kWidth, kSilu>().
template <class F>
auto with_filter(const Conv& conv, F&& f) {
  const auto silu = [&]<int kWidth>() {
    return conv.silu ? f.template operator()<kWidth, true>()
                     : f.template operator()<kWidth, false>();
  };
  switch (conv.width) {
    case 2:
      return silu.template operator()<2>();
    case 3:
      return silu.template operator()<3>();
    default:
      return silu.template operator()<4>();
  }
}

template <class F, int kWidth, Rows kRows, bool kSilu>
constexpr auto kernel_of() {
  if constexpr (F::kInRing)
    return conv_tiles_in_ring<F, kWidth, kRows, kSilu>;
  else
    return conv_tiles_in_registers<F, kWidth, kRows, kSilu>;
}

// Rows of one sequence each.
template <class F>
Status launch_rows(const Conv& conv, int64_t tokens, cudaStream_t stream) {
  const auto function = with_filter(conv, [&]<int kWidth, bool kSilu>() {
    return conv.initial != nullptr || conv.final != nullptr
               ? kernel_of<F, kWidth, Rows::kStates, kSilu>()
               : kernel_of<F, kWidth, Rows::kPlain, kSilu>();
  });
  start_tiles<F>(function, conv, tokens, 1, stream);
  return launched(kLanesOverDim);
}

// One row of many sequences.
template <class F>
Status launch_sequences(const Conv& conv, cudaStream_t stream) {
  const int64_t period = conv.sequences.period;
  const auto function = with_filter(conv, [&]<int kWidth, bool kSilu>() {
    return period > 0 ? kernel_of<F, kWidth, Rows::kShort, kSilu>()
                      : kernel_of<F, kWidth, Rows::kSequences, kSilu>();
  });
  start_tiles<F>(function, conv, F::kTileTokens, std::max<int64_t>(period, 1), stream);
  HISS_RETURN_IF_ERROR(launched(kLanesOverDim));
  // Only lists may have empty sequences.
  if (period > 0 && !conv.in_place) return {};
  return launch_final_state<typename F::T>(kLanesOverDim, conv, stream, F::kTileTokens);
}

// Measured: 16-bit types want more bytes a thread where there are enough of them.
template <class T>
Status launch_lanes_over_dim(const CausalConv1d::Args& args, const Conv& conv,
                             cudaStream_t stream) {
  const auto fits = [&](int vector) {
    const auto bytes = vector * static_cast<int64_t>(sizeof(T));
    return conv.dim % vector == 0 && aligned_rows(args.x, 2, bytes) &&
           aligned_rows(args.y, 2, bytes);
  };
  const bool in_rows = conv.sequences.in_rows();
  if constexpr (sizeof(T) == 2) {
    using Ring = RingForm<T, 4, 4, 4, 128, 6>;
    using Few = Form<T, 4, 8, 128, 6>;
    using Long = Form<T, 2, 16, 128, 8>;
    // Rows in whose last tile of a thread of 16 many tokens may be missing.
    constexpr int64_t kShort = 64;
    constexpr int64_t kMany = int64_t{5} << 19, kMore = int64_t{6} << 20, kMost = int64_t{30} << 20;
    const int64_t elements = conv.batch * conv.seqlen * conv.dim;
    if (fits(4) && !in_rows)
      return conv.sequences.period > 0 ? launch_sequences<Few>(conv, stream)
                                       : launch_sequences<Ring>(conv, stream);
    if (fits(4) && elements >= (conv.seqlen < kShort ? kMore : kMost))
      return launch_rows<Ring>(conv, Ring::kTileTokens, stream);
    if (fits(2) && in_rows && conv.seqlen >= Long::kTileTokens && elements >= kMany)
      return launch_rows<Long>(conv, Long::kTileTokens, stream);
  }
  const auto launch = [&]<class F>() {
    return in_rows ? launch_rows<F>(conv, F::kTileTokens, stream)
                   : launch_sequences<F>(conv, stream);
  };
  return fits(2) ? launch.template operator()<Form<T, 2, 8, 256, 4>>()
                 : launch.template operator()<Form<T, 1, 8, 256, 4>>();
}

}  // namespace hiss::cuda::causal_conv1d
