// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution with one token a lane: channels-first tensors at full speed, every other view
// through a copy of a few hundred tokens in cache.
//
// Parallel over (sequence, 16 channels). Each channel is swept once; the shifted inputs of a vector
// of outputs are unaligned loads. Bound by memory: docs/kernels/causal_conv1d_cpu.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order, whatever the tile.

#include <algorithm>

#include "cpu/causal_conv1d/conv_rows.h"
#include "hiss/ops/causal_conv1d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/causal_conv1d/lanes_over_time.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/simd/elements-inl.h"
#include "cpu/simd/math-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Args = CausalConv1d::Args;
using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr int64_t kLanes = HWY_LANES(float);
constexpr int64_t kTile = 256;  // tokens
constexpr int64_t kTaskChannels = 16;

// One channel of one sequence; tap k meets x[i + offset(k)] when output i is made.
struct Channel {
  const float* taps;  // (width)
  int64_t width;
  float bias;
  bool silu;
};

// y[0 ... n) from x, oldest input of y[i] at x[i] (forward) or x[i + width - 1] (kReverse: memory
// runs against the order of consumption).
template <bool kReverse>
void conv_tile(const Channel& channel, const float* x, int64_t n, float* y) {
  const Tag d;
  const V bias = hn::Set(d, channel.bias);
  const auto offset = [&](int64_t k) { return kReverse ? channel.width - 1 - k : k; };
  int64_t i = 0;
  constexpr int64_t kVectors = 4;
  for (; i + kVectors * kLanes <= n; i += kVectors * kLanes) {
    V sum[kVectors] = {bias, bias, bias, bias};
    for (int64_t k = 0; k < channel.width; ++k) {
      const V tap = hn::Set(d, channel.taps[k]);
      const float* p = x + i + offset(k);
      for (int64_t j = 0; j < kVectors; ++j)
        sum[j] = hn::MulAdd(tap, hn::LoadU(d, p + j * kLanes), sum[j]);
    }
    for (int64_t j = 0; j < kVectors; ++j)
      hn::StoreU(channel.silu ? silu(d, sum[j]) : sum[j], d, y + i + j * kLanes);
  }
  for (; i < n; i += kLanes) {
    const int64_t tokens = std::min(kLanes, n - i);
    V sum = bias;
    for (int64_t k = 0; k < channel.width; ++k) {
      const float* p = x + i + offset(k);
      const V input = tokens == kLanes ? hn::LoadU(d, p) : load_first(d, p, tokens);
      sum = hn::MulAdd(hn::Set(d, channel.taps[k]), input, sum);
    }
    if (channel.silu) sum = silu(d, sum);
    if (tokens == kLanes)
      hn::StoreU(sum, d, y + i);
    else
      store_first(sum, d, y + i, tokens);
  }
}

// Tokens [t, t + n) of one channel, which may lie before token 0 or have any stride, as floats.
void gather_tokens(const Args& args, int64_t s, const Plane& x, int64_t c, int64_t t, int64_t n,
                   float* to) {
  for (; n > 0 && t < 0; ++t, --n) *to++ = earlier_input(args, s, t, c);
  const int64_t first = t * x.token_stride + c * x.channel_stride;
  if (x.token_stride == 1) {
    with_element_type(x.dtype, advance(x.data, x.dtype, first),
                      [&](const auto* p) HWY_ATTR { copy_elements(p, n, to); });
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i] = float_at(x, first + i * x.token_stride);
}

void scatter_tokens(const float* from, const MutablePlane& y, int64_t c, int64_t t, int64_t n) {
  const int64_t first = t * y.token_stride + c * y.channel_stride;
  if (y.token_stride == 1) {
    with_element_type(y.dtype, advance(y.data, y.dtype, first),
                      [&](auto* p) HWY_ATTR { copy_elements(from, n, p); });
    return;
  }
  for (int64_t i = 0; i < n; ++i) put_float(y, first + i * y.token_stride, from[i]);
}

void conv_channel(const Args& args, int64_t s, int64_t length, const Plane& x,
                  const MutablePlane& y, int64_t c) {
  const ConstTensorView& w = args.weight;
  const int64_t width = w.shape[1], history = width - 1;
  float taps[kMaxWidthOverTime];
  for (int64_t k = 0; k < width; ++k) taps[k] = w.as<float>()[c * w.stride[0] + k * w.stride[1]];
  const Channel channel{taps, width,
                        args.bias.present() ? args.bias.as<float>()[c * args.bias.stride[0]] : 0.0f,
                        args.activation == Activation::kSilu};
  const bool in_place = x.dtype == DType::kF32 && x.token_stride == y.token_stride &&
                        (x.token_stride == 1 || x.token_stride == -1);
  HWY_ALIGN float inputs[kMaxWidthOverTime + kTile];
  HWY_ALIGN float outputs[kTile];
  for (int64_t i = 0; i < length;) {
    if (in_place && i >= history) {  // to the end
      const int64_t n = length - i;
      const float* from = static_cast<const float*>(x.data) + c * x.channel_stride;
      float* to = static_cast<float*>(y.data) + c * y.channel_stride;
      if (x.token_stride == 1)
        conv_tile<false>(channel, from + i - history, n, to + i);
      else
        conv_tile<true>(channel, from - (i + n - 1), n, to - (i + n - 1));
      break;
    }
    const int64_t n = std::min(in_place ? std::max(history - i, kLanes) : kTile, length - i);
    const int64_t tokens = std::min(n, kTile);
    gather_tokens(args, s, x, c, i - history, history + tokens, inputs);
    conv_tile<false>(channel, inputs, tokens, outputs);
    scatter_tokens(outputs, y, c, i, tokens);
    i += tokens;
  }
}

Status run(const Args& args, const Launch& launch) {
  const int64_t dim = args.x.shape[2];
  const int64_t runs = (dim + kTaskChannels - 1) / kTaskChannels;
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  executor.run(sequence_count(args) * runs, [&](int64_t task, int) HWY_ATTR {
    const int64_t s = task / runs, begin = task % runs * kTaskChannels;
    const int64_t end = std::min(begin + kTaskChannels, dim);
    const Sequence sequence = sequence_at(args.cu_seqlens, args.x.shape[1], s);
    const Plane x = ordered_plane_of(args.x, sequence, args.direction);
    const MutablePlane y = ordered_plane_of(args.y, sequence, args.direction);
    for (int64_t c = begin; c < end; ++c) conv_channel(args, s, sequence.length, x, y, c);
    store_final_state(args, s, x, sequence.length, begin, end);
  });
  return {};
}

}  // namespace
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace hiss::cpu::HISS_ISA::causal_conv1d {
namespace {
Decline why_not_lanes_over_time(const CausalConv1d::Problem& p, const Machine& machine) {
  if (!machine.HISS_ISA) return why::kIsa;
  if (p.width > kMaxWidthOverTime) return why::kWidth;
  return {};
}
}  // namespace
extern constinit const Kernel<CausalConv1d> lanes_over_time;
constinit const Kernel<CausalConv1d> lanes_over_time{
    .name = "causal_conv1d/cpu." HISS_ISA_NAME ".lanes_over_time",
    .why_not = why_not_lanes_over_time,
    .workspace_bytes = nullptr,
    .run = HWY_NAMESPACE::run};
}  // namespace hiss::cpu::HISS_ISA::causal_conv1d
#endif  // HISS_ISA
