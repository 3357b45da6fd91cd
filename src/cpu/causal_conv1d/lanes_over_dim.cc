// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution of channels-last tensors, one channel a lane.
//
// Parallel over (sequence, run of channels). A task takes a few tokens at a time and sweeps its run
// of channels: as many sequential streams of memory as tokens, taps and accumulators in registers,
// each input loaded once for all the outputs of the block that need it. Bound by memory:
// docs/kernels/causal_conv1d_cpu.md. What caches would not keep is written past them.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order, whatever the block.

#include <algorithm>
#include <type_traits>

#include "cpu/causal_conv1d/conv_rows.h"
#include "hiss/ops/causal_conv1d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/causal_conv1d/lanes_over_dim.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/simd/elements-inl.h"
#include "cpu/simd/math-inl.h"
#include "hwy/cache_control.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Args = CausalConv1d::Args;
using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr int64_t kLanes = HWY_LANES(float);
// Outputs of a block: their accumulators, the taps and an input fit the registers.
constexpr int64_t kBlock = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 8 : 4;
constexpr int64_t kShortRow = 1024;  // channels: a page
constexpr int64_t kAhead = 128;      // channels

// What every block of one task uses.
struct Filter {
  int64_t width, dim;
  const float* taps;  // (width + 1, dim): oldest first, then the bias
  bool silu, far;
  bool large;  // x and y are more than a core's own caches hold
};

// kFar: past the caches; y is aligned to a vector.
template <bool kFar, class T>
HWY_INLINE void store_output(V sum, bool gate, T* y) {
  const Tag d;
  const V v = gate ? silu(d, sum) : sum;
  if constexpr (kFar)
    hn::Stream(v, d, y);
  else
    store_elements(v, d, y);
}

// kTokens outputs of one vector of channels: y[j] from the rows x[j - (width - 1)] ... x[j].
template <int64_t kTokens, int64_t kWidth, bool kFar, class T>
HWY_INLINE void conv_block(const Filter& filter, int64_t c, const T* x, int64_t x_stride, T* y,
                           int64_t y_stride) {
  const Tag d;
  V sum[kTokens];
  const V bias = hn::LoadU(d, filter.taps + filter.width * filter.dim + c);
  for (int64_t j = 0; j < kTokens; ++j) sum[j] = bias;
  if constexpr (kWidth > 0) {
    V tap[kWidth];
    for (int64_t k = 0; k < kWidth; ++k) tap[k] = hn::LoadU(d, filter.taps + k * filter.dim + c);
      // Input i meets outputs i ... i + width - 1; each output sees its inputs oldest first.
#pragma GCC unroll 16
    for (int64_t i = 1 - kWidth; i < kTokens; ++i) {
      const V input = load_elements(d, x + i * x_stride);
#pragma GCC unroll 8
      for (int64_t k = kWidth - 1; k >= 0; --k) {
        const int64_t j = i + kWidth - 1 - k;
        if (j >= 0 && j < kTokens) sum[j] = hn::MulAdd(tap[k], input, sum[j]);
      }
    }
  } else {
    for (int64_t k = 0; k < filter.width; ++k) {
      const V tap = hn::LoadU(d, filter.taps + k * filter.dim + c);
      const T* row = x + (k + 1 - filter.width) * x_stride;
      for (int64_t j = 0; j < kTokens; ++j)
        sum[j] = hn::MulAdd(tap, load_elements(d, row + j * x_stride), sum[j]);
    }
  }
  for (int64_t j = 0; j < kTokens; ++j) store_output<kFar>(sum[j], filter.silu, y + j * y_stride);
}

// The last vector of a run ends where the run ends; it may repeat channels of the one before.
template <class F>
HWY_INLINE void for_each_vector(int64_t begin, int64_t end, F&& f) {
  for (int64_t c = begin; c < end; c += kLanes) f(std::min(c, end - kLanes));
}

// Tokens [first, length), whose inputs are all in x. Short rows end before the hardware has seen
// where they lead, so with kFar the next block's are asked for. Long ones of a large tensor are
// asked for half a kilobyte ahead: the hardware follows eight rows to read and eight to write, but
// not far enough for what a vector costs besides.
template <int64_t kWidth, bool kFar, class T>
void conv_tokens(const Filter& filter, int64_t begin, int64_t end, int64_t first, int64_t length,
                 const T* x, int64_t x_stride, T* y, int64_t y_stride) {
  int64_t i = first;
  for (; i + kBlock <= length; i += kBlock) {
    const bool fetch = kFar && i + 2 * kBlock <= length;
    for_each_vector(begin, end, [&](int64_t c) HWY_ATTR {
      const T* from = x + i * x_stride + c;
      T* to = y + i * y_stride + c;
      for (int64_t j = kBlock; fetch && j < 2 * kBlock; ++j) hwy::Prefetch(from + j * x_stride);
      for (int64_t j = 0; !kFar && filter.large && j < kBlock; ++j) {
        __builtin_prefetch(from + j * x_stride + kAhead, 0, 2);
        __builtin_prefetch(to + j * y_stride + kAhead, 1, 3);
      }
      conv_block<kBlock, kWidth, kFar>(filter, c, from, x_stride, to, y_stride);
    });
  }
  for (; i < length; ++i)
    for_each_vector(begin, end, [&](int64_t c) HWY_ATTR {
      conv_block<1, kWidth, kFar>(filter, c, x + i * x_stride + c, x_stride, y + i * y_stride + c,
                                  y_stride);
    });
  if constexpr (kFar) hwy::FlushStream();
}

// Whether x and y are more than caches hold, in short rows, and rows of y whole vectors. (What the
// system says about its last-level cache counts all cores of a machine that is shared.)
bool is_far(const Args& args, int64_t run_dim) {
  constexpr int64_t kFarBytes = 32 << 20;
  return run_dim <= kShortRow && args.y.dtype == DType::kF32 &&
         8 * args.y.elements() >= kFarBytes && args.x.shape[2] % kLanes == 0 &&
         run_dim % kLanes == 0 && args.y.stride[0] % kLanes == 0 &&
         args.y.stride[1] % kLanes == 0 &&
         reinterpret_cast<uintptr_t>(args.y.data) % sizeof(V) == 0;
}

// Output i < width - 1: some of its inputs come from the state.
template <class T>
void conv_first_tokens(const Args& args, const Filter& filter, int64_t s, int64_t i, int64_t begin,
                       int64_t end, const T* x, int64_t x_stride, T* y) {
  const Tag d;
  for_each_vector(begin, end, [&](int64_t c) HWY_ATTR {
    V sum = hn::LoadU(d, filter.taps + filter.width * filter.dim + c);
    for (int64_t k = 0; k < filter.width; ++k) {
      const int64_t at = i - (filter.width - 1) + k;
      HWY_ALIGN float state[kLanes] = {};
      if (at < 0 && args.initial_state.present())
        for (int64_t lane = 0; lane < kLanes; ++lane)
          state[lane] = earlier_input(args, s, at, c + lane);
      const V input = at < 0 ? hn::Load(d, state) : load_elements(d, x + at * x_stride + c);
      sum = hn::MulAdd(hn::LoadU(d, filter.taps + k * filter.dim + c), input, sum);
    }
    store_output<false>(sum, filter.silu, y + c);
  });
}

template <class T>
void conv_sequence(const Args& args, const Filter& filter, int64_t s, int64_t length, int64_t begin,
                   int64_t end, const T* x, int64_t x_stride, T* y, int64_t y_stride) {
  const int64_t first = std::min(filter.width - 1, length);
  for (int64_t i = 0; i < first; ++i)
    conv_first_tokens(args, filter, s, i, begin, end, x, x_stride, y + i * y_stride);
  const auto conv = [&](auto* function) HWY_ATTR {
    function(filter, begin, end, first, length, x, x_stride, y, y_stride);
  };
  if constexpr (std::is_same_v<T, float>)
    if (filter.far && filter.width == 4) return conv(conv_tokens<4, true, T>);
  switch (filter.width) {
    case 2:
      return conv(conv_tokens<2, false, T>);
    case 3:
      return conv(conv_tokens<3, false, T>);
    case 4:
      return conv(conv_tokens<4, false, T>);
    default:
      return conv(conv_tokens<0, false, T>);
  }
}

void prepare_taps(const Args& args, float* taps) {
  const ConstTensorView& w = args.weight;
  const int64_t dim = w.shape[0], width = w.shape[1];
  int64_t c = 0;
  if (width == 4 && w.stride[0] == 4 && w.stride[1] == 1) {
    const Tag d;
    for (; c + kLanes <= dim; c += kLanes) {
      V w0, w1, w2, w3;
      hn::LoadInterleaved4(d, w.as<float>() + 4 * c, w0, w1, w2, w3);
      hn::StoreU(w0, d, taps + c), hn::StoreU(w1, d, taps + dim + c);
      hn::StoreU(w2, d, taps + 2 * dim + c), hn::StoreU(w3, d, taps + 3 * dim + c);
    }
  }
  for (; c < dim; ++c)
    for (int64_t k = 0; k < width; ++k)
      taps[k * dim + c] = w.as<float>()[c * w.stride[0] + k * w.stride[1]];
  for (c = 0; c < dim; ++c)
    taps[width * dim + c] =
        args.bias.present() ? args.bias.as<float>()[c * args.bias.stride[0]] : 0.0f;
}

Status run(const Args& args, const Launch& launch) {
  const int64_t dim = args.x.shape[2], width = args.weight.shape[1];
  auto* taps = reinterpret_cast<float*>(launch.workspace.data());
  prepare_taps(args, taps);
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  // Whole cache lines, and streams as long as even shares allow; the last run takes the rest.
  const int64_t nseq = sequence_count(args);
  const int64_t wanted = (2 * executor.workers() + nseq - 1) / std::max<int64_t>(nseq, 1);
  const int64_t runs = std::clamp<int64_t>(dim / 128, 1, wanted);
  const int64_t run_dim = dim / runs / 64 * 64;
  constexpr int64_t kLargeBytes = 8 << 20;
  const Filter filter{.width = width,
                      .dim = dim,
                      .taps = taps,
                      .silu = args.activation == Activation::kSilu,
                      .far = is_far(args, run_dim),
                      .large = 2 * args.y.elements() * size_of(args.y.dtype) >= kLargeBytes};
  executor.run(nseq * runs, [&](int64_t task, int) HWY_ATTR {
    const int64_t s = task / runs, i = task % runs;
    const int64_t begin = i * run_dim, end = i + 1 == runs ? dim : begin + run_dim;
    const Sequence sequence = sequence_at(args.cu_seqlens, args.x.shape[1], s);
    const Plane x = ordered_plane_of(args.x, sequence, args.direction);
    const MutablePlane y = ordered_plane_of(args.y, sequence, args.direction);
    with_element_type(x.dtype, x.data, [&]<class T>(const T* from) HWY_ATTR {
      conv_sequence(args, filter, s, sequence.length, begin, end, from, x.token_stride,
                    static_cast<T*>(y.data), y.token_stride);
    });
    store_final_state(args, s, x, sequence.length, begin, end);
  });
  return {};
}

}  // namespace
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace hiss::cpu::HISS_ISA::causal_conv1d {
namespace {
Decline why_not_lanes_over_dim(const CausalConv1d::Problem& p, const Machine& machine) {
  if (!machine.HISS_ISA) return why::kIsa;
  if (p.layout != Layout::kChannelsLast) return why::kLayout;
  if (p.dim < int64_t{HWY_LANES(float)}) return why::kFewChannels;
  return {};
}
size_t workspace_bytes(const CausalConv1d::Problem& p, const Machine&) {
  return static_cast<size_t>(p.dim * (p.width + 1)) * sizeof(float);
}
}  // namespace
extern constinit const Kernel<CausalConv1d> lanes_over_dim;
constinit const Kernel<CausalConv1d> lanes_over_dim{
    .name = "causal_conv1d/cpu." HISS_ISA_NAME ".lanes_over_dim",
    .why_not = why_not_lanes_over_dim,
    .workspace_bytes = workspace_bytes,
    .run = HWY_NAMESPACE::run};
}  // namespace hiss::cpu::HISS_ISA::causal_conv1d
#endif  // HISS_ISA
