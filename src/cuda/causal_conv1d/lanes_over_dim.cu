// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-last tensors: a thread has a vector of channels and walks a tile
// of tokens, its last width-1 inputs in registers.
//
// Parallel over (row, tile, vector of channels); a warp has 32 neighbouring vectors of one tile, so
// each access of it is one contiguous piece of a row. The loads of the next tokens are issued
// before this step's arithmetic. Bound by memory: docs/kernels/causal_conv1d_cuda.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order, whatever the tile.

#include <algorithm>

#include "cuda/causal_conv1d/filter.cuh"
#include "cuda/tile/async_copy.cuh"

namespace hiss::cuda {
namespace {

constexpr std::string_view kName = "causal_conv1d/cuda.sm80.lanes_over_dim";
constexpr int kWarps = 4, kThreads = 32 * kWarps;

// One thread's channels. Tokens come kStep at a time: vectors through a ring of kStages steps in
// shared memory that only this thread uses, single channels straight from memory.
template <class T, int kVector, int kWidth, int kStep, int kStages>
class Walk {
 public:
  using Vector = Pack<T, kVector>;
  static constexpr bool kRing = kVector > 1;
  static constexpr int kSlots = kRing ? kStages * kStep : 1;

  __device__ Walk(const Conv& conv, int64_t channel, Vector (*ring)[kThreads])
      : conv_(conv), channel_(channel), ring_(ring) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      load_taps<kWidth>(conv, channel + v, tap_[v]);
      bias_[v] = bias_of(conv, channel + v);
    }
  }

  // Places [place, place + count) of a row, counted in the order of consumption.
  template <bool kSilu>
  __device__ void run(int64_t row, int64_t place, int count) {
    const int64_t sign = conv_.reverse ? -1 : 1;
    int64_t token = conv_.reverse ? conv_.seqlen - 1 - place : place;
    const T* x = static_cast<const T*>(conv_.x) + row * conv_.x_stride[0] +
                 token * conv_.x_stride[1] + channel_;
    T* y =
        static_cast<T*>(conv_.y) + row * conv_.y_stride[0] + token * conv_.y_stride[1] + channel_;
    const int64_t x_step = sign * conv_.x_stride[1], y_step = sign * conv_.y_stride[1];

    int fetched = 0, stage = 0;
    const T* next = x;
    const auto fetch = [&](int slot) {
#pragma unroll
      for (int j = 0; j < kStep; ++j) {
        if (fetched + j < count)
          copy_async<sizeof(Vector)>(next, &ring_[slot * kStep + j][threadIdx.x]);
        next += x_step;
      }
      fetched += kStep;
      commit_copies();
    };
    if constexpr (kRing) {
#pragma unroll
      for (int i = 0; i < kStages - 1; ++i) fetch(i);
    }
    Span span = conv_.sequences.with(row, token);
    const int64_t first = conv_.reverse ? span.end - 1 - token : token - span.begin;
    int64_t left = span.end - span.begin - first;  // tokens of this sequence
    load_history(span, first, x, x_step);
    for (; count > 0; count -= kStep, fetched -= kStep) {
      float input[kStep][kVector];
      if constexpr (kRing) {
        fetch(stage == 0 ? kStages - 1 : stage - 1);
        wait_copies<kStages - 1>();
#pragma unroll
        for (int j = 0; j < kStep; ++j)
          load_pack<kVector>(ring_[stage * kStep + j][threadIdx.x].element, input[j]);
        stage = stage + 1 == kStages ? 0 : stage + 1;
      } else {
#pragma unroll
        for (int j = 0; j < kStep; ++j)
          if (j < count) load_pack<kVector>(x + j * x_step, input[j]);
        x += kStep * x_step;
      }
      if (count >= kStep && left >= kStep) {
#pragma unroll
        for (int j = 0; j < kStep; ++j, y += y_step) put<kSilu>(input[j], y);
        left -= kStep;
      } else {
#pragma unroll
        for (int j = 0; j < kStep; ++j, y += y_step) {
          if (j >= count) break;
          if (left == 0) {
            span = conv_.sequences.after(span, token + sign * j);
            left = span.end - span.begin;
            load_history(span, 0, x, x_step);
          }
          put<kSilu>(input[j], y);
          --left;
        }
      }
      token += sign * kStep;
    }
    if constexpr (kRing) wait_copies<0>();
  }

 private:
  // The output of the token whose inputs are `newest`, which enter the history.
  template <bool kSilu>
  __device__ __forceinline__ void put(const float (&newest)[kVector], T* y) {
    float result[kVector];
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      float input[kWidth];
#pragma unroll
      for (int k = 0; k + 1 < kWidth; ++k) input[k] = history_[k][v];
      input[kWidth - 1] = newest[v];
      result[v] = output_of<kSilu>(tap_[v], bias_[v], input);
#pragma unroll
      for (int k = 0; k + 1 < kWidth; ++k) history_[k][v] = input[k + 1];
    }
    store_pack(result, y);
  }
  __device__ void load_history(const Span& span, int64_t first, const T* x, int64_t step) {
#pragma unroll
    for (int j = 0; j + 1 < kWidth; ++j) {
      const int back = kWidth - 1 - j;
      if (first >= back) {
        load_pack<kVector>(x - back * step, history_[j]);
      } else {
#pragma unroll
        for (int v = 0; v < kVector; ++v)
          history_[j][v] = earlier_input(conv_, span.s, first - back, channel_ + v);
      }
    }
  }

  const Conv& conv_;
  const int64_t channel_;
  Vector (*ring_)[kThreads];
  float tap_[kVector][kWidth], bias_[kVector], history_[kWidth - 1][kVector];
};

// final_state of a whole row by the thread that has read its initial_state, which may be its
// memory.
template <class T, int kVector, int kWidth>
__device__ void store_final(const Conv& conv, const Span& span, int64_t channel) {
  for (int j = 0; j < kWidth - 1; ++j)
    for (int v = 0; v < kVector; ++v)
      conv.final[span.s * conv.final_stride[0] + j * conv.final_stride[1] +
                 (channel + v) * conv.final_stride[2]] =
          input_at<T>(conv, span, span.end - span.begin - (kWidth - 1) + j, channel + v);
}

template <class T, int kVector, int kWidth, int kStep, int kStages, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks)
    conv_lanes_over_dim(const __grid_constant__ Conv conv, const int64_t tile,
                        const int64_t tiles) {
  using Walker = Walk<T, kVector, kWidth, kStep, kStages>;
  __shared__ typename Walker::Vector ring[Walker::kSlots][kThreads];
  // Neighbouring warps have neighbouring columns of one tile: together they read whole rows.
  const auto columns = static_cast<unsigned>(ceil_div(conv.dim / kVector, 32));
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int64_t vector = warp % columns * 32 + threadIdx.x % 32, item = warp / columns;
  if (vector >= conv.dim / kVector || item >= conv.batch * tiles) return;
  const int64_t channel = vector * kVector, row = item / tiles;
  const int64_t place = item % tiles * tile;
  const int count = static_cast<int>(min(tile, conv.seqlen - place));
  Walker walk(conv, channel, ring);
  if (count > 0) {
    if (conv.silu)
      walk.template run<true>(row, place, count);
    else
      walk.template run<false>(row, place, count);
  }
  if (conv.final != nullptr && item % tiles == 0 && conv.sequences.in_rows())
    store_final<T, kVector, kWidth>(conv, conv.sequences.at(row), channel);
}

Decline why_not(const CausalConv1d::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.layout != Layout::kChannelsLast) return why::kLayout;
  if (p.width < 2 || p.width > 4) return why::kWidth;
  return {};
}

template <class T, int kVector, int kWidth, int kStep = 4, int kStages = 4, int kBlocks = 1,
          int kTile = 64>
Status launch_conv(const Conv& conv, cudaStream_t stream) {
  const int64_t columns = ceil_div(conv.dim / kVector, 32);
  // Tiles long enough to forget the reading of history; where that leaves the device idle, as many
  // as there is room for at once.
  constexpr int64_t kRoom = 132 * kBlocks * kWarps;
  int64_t tiles = ceil_div(conv.seqlen, kTile);
  if (conv.batch * tiles * columns < 3 * kRoom)
    tiles = std::clamp(kRoom / std::max<int64_t>(conv.batch * columns, 1), tiles,
                       ceil_div(conv.seqlen, 2 * kStep));
  // A row without tokens still has a state to hand on.
  tiles = std::max<int64_t>(tiles, 1);
  const int64_t tile = ceil_div(ceil_div(conv.seqlen, tiles), kStep) * kStep;
  const int64_t blocks = ceil_div(conv.batch * tiles * columns, kWarps);
  if (blocks == 0) return {};
  conv_lanes_over_dim<T, kVector, kWidth, kStep, kStages, kBlocks>
      <<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(conv, tile, tiles);
  return launched(kName);
}

// Measured: what keeps enough loads under way within the registers of a thread.
template <class T, int kVector, int kWidth>
Status launch_best(const Conv& conv, cudaStream_t stream) {
  if constexpr (kVector == 1)
    return launch_conv<T, kVector, kWidth, 4, 1, 8, 64>(conv, stream);
  else
    return launch_conv<T, kVector, kWidth, 4, 4, 4, 64>(conv, stream);
}

template <class T, int kVector>
Status launch_width(const Conv& conv, cudaStream_t stream) {
  switch (conv.width) {
    case 2:
      return launch_best<T, kVector, 2>(conv, stream);
    case 3:
      return launch_best<T, kVector, 3>(conv, stream);
    default:
      return launch_best<T, kVector, 4>(conv, stream);
  }
}

// A batch of short rows that follow one another is walked as one row of many sequences.
void join_short_rows(Conv& conv) {
  constexpr int64_t kShort = 16;
  const auto follow = [&](const int64_t(&stride)[3]) {
    return stride[0] == conv.seqlen * stride[1];
  };
  if (conv.sequences.cu_seqlens != nullptr || conv.batch == 1 || conv.seqlen == 0 ||
      conv.seqlen >= kShort || !follow(conv.x_stride) || !follow(conv.y_stride))
    return;
  conv.sequences.period = conv.seqlen;
  conv.sequences.seqlen = conv.seqlen *= conv.batch;
  conv.batch = 1;
}

Status run(const CausalConv1d::Args& args, const Launch& launch) {
  Conv conv = conv_of(args);
  const cudaStream_t stream = stream_of(launch);
  join_short_rows(conv);
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    constexpr int kVector = 4;
    constexpr int64_t kBytes = kVector * sizeof(T);
    const bool wide = conv.dim % kVector == 0 && aligned_rows(args.x, 2, kBytes) &&
                      aligned_rows(args.y, 2, kBytes);
    HISS_RETURN_IF_ERROR(
        (wide ? launch_width<T, kVector>(conv, stream) : launch_width<T, 1>(conv, stream)));
    return conv.sequences.in_rows() ? Status() : launch_final_state<T>(kName, conv, stream);
  });
}

}  // namespace

namespace causal_conv1d {
extern constinit const Kernel<CausalConv1d> lanes_over_dim;
constinit const Kernel<CausalConv1d> lanes_over_dim{.name = kName,
                                                    .why_not = why_not,
                                                    .workspace_bytes = nullptr,
                                                    .run = run,
                                                    .device = Device::kCuda};
}  // namespace causal_conv1d
}  // namespace hiss::cuda
