// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-last tensors: a thread has a vector of channels and walks a short
// tile of tokens, the inputs of the next step under way.
//
// Parallel over (row, tile of tokens, vector of channels), vectors fastest, so that a warp reads
// one contiguous piece of a row. The inputs before a tile are another thread's too and come from
// the cache. Bound by memory: docs/kernels/causal_conv1d_cuda.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order, whatever the tile.

#include <algorithm>

#include "cuda/causal_conv1d/filter.cuh"
#include "cuda/tile/divide.cuh"
#include "cuda/tile/raw.cuh"

namespace hiss::cuda {
namespace {

constexpr std::string_view kName = "causal_conv1d/cuda.sm80.lanes_over_dim";
// A block's piece of a row is 1 or 2 KiB.
template <int kVector>
constexpr int kThreads = kVector == 4 ? 128 : 256;

struct Cut {
  Divider by_vector;  // vectors of a token
  Divider by_tile;    // tiles of a row
};

// A thread's channels: the filter, and the inputs before the next token.
template <class T, int kVector, int kWidth>
class Channels {
 public:
  static constexpr int kHistory = kWidth - 1;
  using Vector = Raw<T, kVector>;

  __device__ __forceinline__ Channels(const Conv& conv, int64_t channel) : channel_(channel) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      load_taps<kWidth>(conv, channel + v, tap_[v]);
      bias_[v] = bias_of(conv, channel + v);
    }
  }
  // `before`: the last kHistory inputs.
  __device__ __forceinline__ void begin(const Vector* before) {
#pragma unroll
    for (int j = 0; j < kHistory; ++j)
#pragma unroll
      for (int v = 0; v < kVector; ++v) history_[j][v] = before[j][v];
  }
  // Zeros for all but the last `count`.
  __device__ __forceinline__ void keep(int64_t count) {
#pragma unroll
    for (int j = 0; j < kHistory; ++j)
#pragma unroll
      for (int v = 0; v < kVector; ++v)
        if (kHistory - j > count) history_[j][v] = 0.0f;
  }
  // Those before the first of a sequence, whose next token is its `next`-th.
  __device__ __forceinline__ void put_earlier(const Conv& conv, int64_t s, int64_t next) {
#pragma unroll
    for (int j = 0; j < kHistory; ++j)
      if (next - kHistory + j < 0) {
#pragma unroll
        for (int v = 0; v < kVector; ++v)
          history_[j][v] = earlier_input(conv, s, next - kHistory + j, channel_ + v);
      }
  }
  template <bool kSilu>
  __device__ __forceinline__ void put(const Vector& newest, T* y, bool wanted = true) {
    float result[kVector];
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      float input[kWidth];
#pragma unroll
      for (int k = 0; k < kHistory; ++k) input[k] = history_[k][v];
      input[kHistory] = newest[v];
      result[v] = output_of<kSilu>(tap_[v], bias_[v], input);
#pragma unroll
      for (int k = 0; k < kHistory; ++k) history_[k][v] = input[k + 1];
    }
    if (wanted) Vector::of(result).store(y);
  }

 private:
  const int64_t channel_;
  float tap_[kVector][kWidth], bias_[kVector], history_[kHistory][kVector];
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

// Tokens one by one, each with a look at where its sequence ends.
template <bool kSilu, class T, int kVector, int kWidth>
__device__ void walk_sequences(const Conv& conv, Channels<T, kVector, kWidth>& channels, Span span,
                               int64_t token, int count, const T* x, int64_t x_step, T* y,
                               int64_t y_step) {
  using Vector = Raw<T, kVector>;
  int64_t left = conv.reverse ? token - span.begin + 1 : span.end - token;
  Vector newest = Vector::at(x);
#pragma unroll 1
  for (int j = 0; j < count; ++j, --left, token += conv.reverse ? -1 : 1) {
    const Vector now = newest;
    x += x_step;
    if (j + 1 < count) newest = Vector::at(x);
    if (left == 0) {
      span = conv.sequences.after(span, token);
      left = span.end - span.begin;
      channels.put_earlier(conv, span.s, 0);
    }
    channels.template put<kSilu>(now, y);
    y += y_step;
  }
}

// What a row is: a sequence with zeros before it; any number of sequences, which may have states
// from before them; or the rows of a batch, each shorter than a few tiles and with zeros before it.
enum class Rows { kPlain, kGeneral, kJoined };

// A tile is kSteps times kTokens tokens.
template <class T, int kVector, int kTokens, int kSteps, int kWidth, Rows kRows, bool kSilu>
__global__ void __launch_bounds__(kThreads<kVector>,
                                  (kVector == 4 ? 6 : 4) -
                                      (kRows == Rows::kGeneral ? kVector / 2 : 0))
    conv_lanes_over_dim(const __grid_constant__ Conv conv, const __grid_constant__ Cut cut) {
  constexpr bool kGeneral = kRows == Rows::kGeneral;
  using Thread = Channels<T, kVector, kWidth>;
  using Vector = typename Thread::Vector;
  constexpr int kHistory = kWidth - 1;
  const int64_t item = int64_t{blockIdx.x} * kThreads<kVector> + threadIdx.x;
  int64_t vector, tile;
  const int64_t row = cut.by_tile.divide(cut.by_vector.divide(item, vector), tile);
  if (row >= conv.batch) return;
  const int64_t channel = vector * kVector;
  // Places count in the order of consumption.
  const int64_t place = tile * (kTokens * kSteps);
  int count = static_cast<int>(min(int64_t{kTokens * kSteps}, conv.seqlen - place));
  const int64_t token = conv.reverse ? conv.seqlen - 1 - place : place;
  const T* x =
      static_cast<const T*>(conv.x) + row * conv.x_stride[0] + token * conv.x_stride[1] + channel;
  T* y = static_cast<T*>(conv.y) + row * conv.y_stride[0] + token * conv.y_stride[1] + channel;
  const int64_t x_step = conv.reverse ? -conv.x_stride[1] : conv.x_stride[1];
  const int64_t y_step = conv.reverse ? -conv.y_stride[1] : conv.y_stride[1];

  Vector before[kHistory], now[kTokens];
#pragma unroll
  for (int j = 0; j < kHistory; ++j)
    before[j] = place + j >= kHistory ? Vector::at(x + (j - kHistory) * x_step) : Vector{};
#pragma unroll
  for (int j = 0; j < kTokens; ++j)
    if (j < count) now[j] = Vector::at(x + j * x_step);
  Thread thread(conv, channel);
  thread.begin(before);
  Span span{row, row, 0, conv.seqlen};
  if (kGeneral && count > 0) {
    span = conv.sequences.with(row, token);
    thread.put_earlier(conv, span.s, conv.reverse ? span.end - 1 - token : token - span.begin);
  }
  if (kRows != Rows::kJoined && conv.final != nullptr && tile == 0 && conv.sequences.in_rows())
    store_final<T, kVector, kWidth>(conv, span, channel);
  if (kGeneral && count > (conv.reverse ? token - span.begin + 1 : span.end - token))
    return walk_sequences<kSilu>(conv, thread, span, token, count, x, x_step, y, y_step);
  if constexpr (kRows == Rows::kJoined) {
    static_assert(kSteps == 1);
    int64_t left = conv.sequences.period - place % conv.sequences.period;
    thread.keep(conv.sequences.period - left);
#pragma unroll
    for (int j = 0; j < kTokens; ++j, y += y_step) {
      if (left == 0) {
        thread.keep(0);
        left = conv.sequences.period;
      }
      --left;
      thread.template put<kSilu>(now[j], y, j < count);
    }
  } else if constexpr (kSteps == 1) {
#pragma unroll
    for (int j = 0; j < kTokens; ++j) thread.template put<kSilu>(now[j], y + j * y_step, j < count);
  } else {
    for (;;) {
      x += kTokens * x_step;
      Vector next[kTokens];
#pragma unroll
      for (int j = 0; j < kTokens; ++j)
        if (kTokens + j < count) next[j] = Vector::at(x + j * x_step);
#pragma unroll
      for (int j = 0; j < kTokens; ++j)
        if (j < count) thread.template put<kSilu>(now[j], y + j * y_step);
      count -= kTokens;
      if (count <= 0) break;
      y += kTokens * y_step;
#pragma unroll
      for (int j = 0; j < kTokens; ++j) now[j] = next[j];
    }
  }
}

Decline why_not(const CausalConv1d::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.layout != Layout::kChannelsLast) return why::kLayout;
  if (p.width < 2 || p.width > 4) return why::kWidth;
  return {};
}

template <class T, int kVector, int kTokens, int kSteps, int kWidth>
Status launch_conv(const Conv& conv, cudaStream_t stream) {
  // A row without tokens still has a state to hand on.
  const int64_t tiles = std::max<int64_t>(ceil_div(conv.seqlen, kTokens * kSteps), 1);
  const int64_t vectors = conv.dim / kVector;
  const int64_t blocks = ceil_div(conv.batch * tiles * vectors, kThreads<kVector>);
  if (blocks == 0) return {};
  const Cut cut{Divider(vectors), Divider(tiles)};
  const auto with = [&]<bool kSilu>() {
    if constexpr (kSteps == 1)
      if (conv.sequences.period > 0)
        return conv_lanes_over_dim<T, kVector, kTokens, kSteps, kWidth, Rows::kJoined, kSilu>;
    return !conv.sequences.in_rows() || conv.initial != nullptr
               ? conv_lanes_over_dim<T, kVector, kTokens, kSteps, kWidth, Rows::kGeneral, kSilu>
               : conv_lanes_over_dim<T, kVector, kTokens, kSteps, kWidth, Rows::kPlain, kSilu>;
  };
  const auto function =
      conv.silu ? with.template operator()<true>() : with.template operator()<false>();
  function<<<static_cast<unsigned>(blocks), kThreads<kVector>, 0, stream>>>(conv, cut);
  return launched(kName);
}

template <class T, int kVector, int kTokens, int kSteps>
Status launch_width(const Conv& conv, cudaStream_t stream) {
  switch (conv.width) {
    case 2:
      return launch_conv<T, kVector, kTokens, kSteps, 2>(conv, stream);
    case 3:
      return launch_conv<T, kVector, kTokens, kSteps, 3>(conv, stream);
    default:
      return launch_conv<T, kVector, kTokens, kSteps, 4>(conv, stream);
  }
}

// Measured: 16-bit types want more bytes a thread where there are enough of them.
template <class T>
Status launch_best(const CausalConv1d::Args& args, const Conv& conv, cudaStream_t stream) {
  constexpr int64_t kMany = int64_t{8} << 20;
  const auto fits = [&](int vector) {
    const auto bytes = vector * static_cast<int64_t>(sizeof(T));
    return conv.dim % vector == 0 && aligned_rows(args.x, 2, bytes) &&
           aligned_rows(args.y, 2, bytes);
  };
  if constexpr (sizeof(T) == 2)
    if (fits(4) && conv.sequences.period == 0 && conv.batch * conv.seqlen * conv.dim >= kMany)
      return launch_width<T, 4, 8, 2>(conv, stream);
  return fits(2) ? launch_width<T, 2, 8, 1>(conv, stream) : launch_width<T, 1, 8, 1>(conv, stream);
}

// A batch of short rows that follow one another is cut like one row.
void join_short_rows(Conv& conv) {
  constexpr int64_t kShort = 16;
  if (conv.sequences.cu_seqlens != nullptr || conv.initial != nullptr || conv.batch == 1 ||
      conv.seqlen == 0 || conv.seqlen >= kShort)
    return;
  // Where a row has one token, the next token is that of the next row.
  if (conv.seqlen == 1) conv.x_stride[1] = conv.x_stride[0], conv.y_stride[1] = conv.y_stride[0];
  if (conv.x_stride[0] != conv.seqlen * conv.x_stride[1] ||
      conv.y_stride[0] != conv.seqlen * conv.y_stride[1])
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
    HISS_RETURN_IF_ERROR(launch_best<T>(args, conv, stream));
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
