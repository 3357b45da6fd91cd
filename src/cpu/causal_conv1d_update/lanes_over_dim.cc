// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Decode step of the convolution, one channel a lane.
//
// Parallel over (batch row, 256 channels). The last inputs of a vector of channels and the new ones
// form a window of rows; y is a product with the taps at each place, and the window's end is the
// new state. Bound by the memory of state, x, y and weight.
//
// Serves strict: y of a token depends on its own window only, summed from the oldest tap on.

#include <algorithm>

#include "core/sequences.h"
#include "cpu/causal_conv1d_update/conv_blocks.h"
#include "cpu/simd/plane.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/causal_conv1d_update/lanes_over_dim.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/simd/math-inl.h"
#include "cpu/simd/tile-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

using Args = CausalConv1dUpdate::Args;
using conv_update::kBlockChannels;
using conv_update::kMaxWidth;
using conv_update::kTileTokens;

using Tag = hn::ScalableTag<float>;
using Lanes = hn::Vec<Tag>;
constexpr int64_t kLanes = HWY_LANES(float);

// One vector of channels of one batch row.
struct Column {
  int64_t b, slot, c, lanes;
};

void copy_rows(const Rows& rows, int64_t count, float* to) {
  const Tag d;
  for (int64_t i = 0; i < count; ++i)
    hn::Store(hn::LoadU(d, rows.data + i * rows.stride), d, to + i * kLanes);
}

// Rows to tokens [t, t + count) of a plane.
void store_rows(const float* from, int64_t count, const MutablePlane& plane, int64_t t,
                const Column& column) {
  const Tag d;
  HWY_ALIGN float buffer[kMaxWidth * kLanes];
  const MutableRows to = tile_for_store(plane, t, column.c, column.lanes, buffer);
  for (int64_t i = 0; i < count; ++i)
    hn::StoreU(hn::Load(d, from + i * kLanes), d, to.data + i * to.stride);
  store_tile(d, to, buffer, plane, t, count, column.c, column.lanes);
}

void update_column(const Args& args, const Column& column) {
  const Tag d;
  const int64_t width = args.weight.shape[1], history = width - 1, ntokens = args.x.shape[1];
  HWY_ALIGN float taps[kMaxWidth * kLanes], bias[kLanes], y[kTileTokens * kLanes];
  HWY_ALIGN float window[(kMaxWidth + kTileTokens) * kLanes];  // oldest input first
  float* newest = window + history * kLanes;
  // Taps and bias as (tokens, channels): the taps are the tokens.
  const Plane weight{args.weight.data, DType::kF32, args.weight.stride[1], args.weight.stride[0]};
  copy_rows(load_tile(d, weight, 0, width, column.c, column.lanes, taps), width, taps);
  hn::Store(hn::Zero(d), d, bias);
  if (args.bias.present()) {
    const Plane plane{args.bias.data, DType::kF32, 0, args.bias.stride[0]};
    copy_rows(load_tile(d, plane, 0, 1, column.c, column.lanes, bias), 1, bias);
  }
  const MutablePlane state = plane_of(args.state, column.slot, 0);
  const Plane old_state{state.data, state.dtype, state.token_stride, state.channel_stride};
  copy_rows(load_tile(d, old_state, 0, history, column.c, column.lanes, window), history, window);

  const Plane x = plane_of(args.x, column.b, 0);
  for (int64_t t = 0; t < ntokens; t += kTileTokens) {
    const int64_t tokens = std::min(kTileTokens, ntokens - t);
    copy_rows(load_tile(d, x, t, tokens, column.c, column.lanes, newest), tokens, newest);
    for (int64_t i = 0; i < tokens; ++i) {
      Lanes sum = hn::Load(d, bias);
      for (int64_t k = 0; k < width; ++k)
        sum =
            hn::MulAdd(hn::Load(d, taps + k * kLanes), hn::Load(d, window + (i + k) * kLanes), sum);
      hn::Store(args.activation == Activation::kSilu ? silu(d, sum) : sum, d, y + i * kLanes);
    }
    store_rows(y, tokens, plane_of(args.y, column.b, 0), t, column);
    if (args.snapshots.present()) {
      for (int64_t i = 0; i < tokens; ++i) {
        const TensorView& v = args.snapshots;
        float* first = v.as<float>() + column.b * v.stride[0] + (t + i) * v.stride[1];
        store_rows(window + (i + 1) * kLanes, history,
                   {first, DType::kF32, v.stride[2], v.stride[3]}, 0, column);
      }
    }
    std::copy_n(window + tokens * kLanes, history * kLanes, window);
  }
  store_rows(window, history, state, 0, column);
}

// Padding: y is zero.
void clear_column(const Args& args, const Column& column) {
  HWY_ALIGN float zeros[kTileTokens * kLanes] = {};
  const int64_t ntokens = args.y.shape[1];
  for (int64_t t = 0; t < ntokens; t += kTileTokens)
    store_rows(zeros, std::min(kTileTokens, ntokens - t), plane_of(args.y, column.b, 0), t, column);
}

Status run(const Args& args, const Launch& launch) {
  const CausalConv1dUpdate::Problem problem = CausalConv1dUpdate::describe(args);
  const int64_t per_row = conv_update::blocks_per_row(problem.dim);
  const int64_t blocks = problem.batch * per_row, runs = conv_update::runs_of(problem);
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  executor.run(runs, [&](int64_t run, int) HWY_ATTR {
    for (int64_t i = blocks * run / runs; i < blocks * (run + 1) / runs; ++i) {
      const int64_t b = i / per_row, begin = i % per_row * kBlockChannels;
      const int64_t end = std::min(problem.dim, begin + kBlockChannels);
      const int64_t slot = args.state_indices.present() ? index_at(args.state_indices, b) : b;
      for (int64_t c = begin; c < end; c += kLanes) {
        const Column column{b, slot, c, std::min(kLanes, end - c)};
        if (slot < 0)
          clear_column(args, column);
        else
          update_column(args, column);
      }
    }
  });
  return {};
}

}  // namespace
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace hiss::cpu::HISS_ISA::causal_conv1d_update {
extern constinit const Kernel<CausalConv1dUpdate> lanes_over_dim;
constinit const Kernel<CausalConv1dUpdate> lanes_over_dim{
    .name = "causal_conv1d_update/cpu." HISS_ISA_NAME ".lanes_over_dim",
    .why_not = conv_update::why_not<&Machine::HISS_ISA>,
    .workspace_bytes = nullptr,
    .run = HWY_NAMESPACE::run};
}  // namespace hiss::cpu::HISS_ISA::causal_conv1d_update
#endif  // HISS_ISA
