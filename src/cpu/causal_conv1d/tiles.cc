// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Causal convolution where x and y are laid out differently, as ggml's SSM_CONV has them (tokens
// side by side in, channels side by side out): a tile of tokens and one vector of channels is
// brought into cache transposed, and convolved with one channel a lane.
//
// Parallel over (sequence, 64 channels): whole cache lines of a token's channels. Bound by memory.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order, whatever the tile.

#include <algorithm>

#include "cpu/causal_conv1d/conv_rows.h"
#include "hiss/ops/causal_conv1d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/causal_conv1d/tiles.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/simd/math-inl.h"
#include "cpu/simd/tile-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Args = CausalConv1d::Args;
using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr int64_t kLanes = HWY_LANES(float);
constexpr int64_t kTile = 32;  // tokens
constexpr int64_t kTaskChannels = 64;

// One vector of channels of a task. Floats: on NEON a vector has a constructor, and a class's own
// is not compiled for an instruction set.
struct Lanes {
  int64_t c, lanes;  // lanes <= kLanes
  HWY_ALIGN float taps[kMaxWidthOfTiles * kLanes];
  HWY_ALIGN float bias[kLanes];
};

// y[j] = act(bias + taps[0] x[j] + ... ) for the rows of a tile; x[0] is the oldest input of y[0].
template <int64_t kWidth>
void conv_rows(const Lanes& lanes, int64_t width, bool gate, Rows x, int64_t tokens,
               const MutableRows& y) {
  const Tag d;
  const int64_t n = kWidth > 0 ? kWidth : width;
  V taps[kWidth > 0 ? kWidth : kMaxWidthOfTiles];
  for (int64_t k = 0; k < n; ++k) taps[k] = hn::Load(d, lanes.taps + k * kLanes);
  const V bias = hn::Load(d, lanes.bias);
  for (int64_t j = 0; j < tokens; ++j) {
    V sum = bias;
    for (int64_t k = 0; k < n; ++k)
      sum = hn::MulAdd(taps[k], hn::LoadU(d, x.data + (j + k) * x.stride), sum);
    hn::StoreU(gate ? silu(d, sum) : sum, d, y.data + j * y.stride);
  }
}

// Whether initial_state is the memory in front of x, one view with it.
bool state_precedes(const Args& args) {
  const ConstTensorView &v = args.initial_state, &x = args.x;
  return v.present() && !args.cu_seqlens.present() && args.direction == Direction::kForward &&
         x.dtype == DType::kF32 && v.stride[0] == x.stride[0] && v.stride[1] == x.stride[1] &&
         v.stride[2] == x.stride[2] && v.as<float>() + v.shape[1] * v.stride[1] == x.as<float>();
}

void fill(const Args& args, int64_t c, int64_t end, Lanes& v) {
  const ConstTensorView& w = args.weight;
  v.c = c, v.lanes = std::min(kLanes, end - c);
  std::fill_n(v.taps, w.shape[1] * kLanes, 0.0f);
  std::fill_n(v.bias, kLanes, 0.0f);
  for (int64_t k = 0; k < w.shape[1]; ++k)
    for (int64_t lane = 0; lane < v.lanes; ++lane)
      v.taps[k * kLanes + lane] = w.as<float>()[(c + lane) * w.stride[0] + k * w.stride[1]];
  for (int64_t lane = 0; args.bias.present() && lane < v.lanes; ++lane)
    v.bias[lane] = args.bias.as<float>()[(c + lane) * args.bias.stride[0]];
}

// Inputs [first, first + tokens) of a vector of channels, the negative ones from initial_state.
Rows input_rows(const Args& args, int64_t s, const Plane& x, bool one_view, int64_t first,
                int64_t tokens, const Lanes& v, float* buffer) {
  const Tag d;
  if (first >= 0 || one_view) return load_tile(d, x, first, tokens, v.c, v.lanes, buffer);
  const int64_t earlier = std::min(-first, tokens);
  for (int64_t i = 0; i < earlier; ++i)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      buffer[i * kLanes + lane] =
          lane < v.lanes ? earlier_input(args, s, first + i, v.c + lane) : 0.0f;
  float* rest = buffer + earlier * kLanes;
  const Rows loaded = load_tile(d, x, 0, tokens - earlier, v.c, v.lanes, rest);
  for (int64_t i = 0; loaded.data != rest && i < tokens - earlier; ++i)
    hn::Store(hn::LoadU(d, loaded.data + i * loaded.stride), d, rest + i * kLanes);
  return {buffer, kLanes};
}

void conv_task(const Args& args, int64_t s, const Sequence& sequence, int64_t begin, int64_t end) {
  const Tag d;
  const Plane x = ordered_plane_of(args.x, sequence, args.direction);
  const MutablePlane y = ordered_plane_of(args.y, sequence, args.direction);
  const int64_t width = args.weight.shape[1], history = width - 1;
  const bool gate = args.activation == Activation::kSilu, one_view = state_precedes(args);
  HWY_ALIGN float inputs[(kMaxWidthOfTiles + kTile) * kLanes];
  HWY_ALIGN float outputs[kTile * kLanes];
  Lanes vectors[kTaskChannels / kLanes];
  int64_t count = 0;
  for (int64_t c = begin; c < end; c += kLanes) fill(args, c, end, vectors[count++]);
  for (int64_t i = 0; i < sequence.length; i += kTile) {
    const int64_t tokens = std::min(kTile, sequence.length - i);
    for (int64_t j = 0; j < count; ++j) {
      const Lanes& v = vectors[j];
      const Rows in = input_rows(args, s, x, one_view, i - history, history + tokens, v, inputs);
      const MutableRows out = tile_for_store(y, i, v.c, v.lanes, outputs);
      if (width == 4)
        conv_rows<4>(v, width, gate, in, tokens, out);
      else
        conv_rows<0>(v, width, gate, in, tokens, out);
      store_tile(d, out, outputs, y, i, tokens, v.c, v.lanes);
    }
  }
  store_final_state(args, s, x, sequence.length, begin, end);
}

Status run(const Args& args, const Launch& launch) {
  const int64_t dim = args.x.shape[2];
  const int64_t runs = (dim + kTaskChannels - 1) / kTaskChannels;
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  executor.run(sequence_count(args) * runs, [&](int64_t task, int) HWY_ATTR {
    const int64_t s = task / runs, begin = task % runs * kTaskChannels;
    conv_task(args, s, sequence_at(args.cu_seqlens, args.x.shape[1], s), begin,
              std::min(begin + kTaskChannels, dim));
  });
  return {};
}

}  // namespace
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace hiss::cpu::HISS_ISA::causal_conv1d {
namespace {
Decline why_not_tiles(const CausalConv1d::Problem& p, const Machine& machine) {
  if (!machine.HISS_ISA) return why::kIsa;
  if (p.layout != Layout::kStrided) return why::kLayout;
  if (p.width > kMaxWidthOfTiles) return why::kWidth;
  return {};
}
}  // namespace
extern constinit const Kernel<CausalConv1d> tiles;
constinit const Kernel<CausalConv1d> tiles{.name = "causal_conv1d/cpu." HISS_ISA_NAME ".tiles",
                                           .why_not = why_not_tiles,
                                           .workspace_bytes = nullptr,
                                           .run = HWY_NAMESPACE::run};
}  // namespace hiss::cpu::HISS_ISA::causal_conv1d
#endif  // HISS_ISA
