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

// Channels [c, c + lanes) of one batch row: a vector of them, or a block.
struct Column {
  int64_t b, slot, c, lanes;
};

// The taps as (tokens, channels), in which the bias is one row.
Plane taps_of(const Args& args) {
  return {args.weight.data, DType::kF32, args.weight.stride[1], args.weight.stride[0]};
}
Plane as_input(const MutablePlane& plane) {
  return {plane.data, plane.dtype, plane.token_stride, plane.channel_stride};
}
Lanes load_bias(const Args& args, const Column& column) {
  const Tag d;
  if (!args.bias.present()) return hn::Zero(d);
  HWY_ALIGN float buffer[kLanes];
  const Plane plane{args.bias.data, DType::kF32, 0, args.bias.stride[0]};
  return hn::LoadU(d, load_tile(d, plane, 0, 1, column.c, column.lanes, buffer).data);
}
// The state after token t.
MutablePlane snapshot_of(const Args& args, int64_t b, int64_t t) {
  const TensorView& v = args.snapshots;
  return {v.as<float>() + b * v.stride[0] + t * v.stride[1], DType::kF32, v.stride[2], v.stride[3]};
}

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

// Any width: the window in memory.
void update_wide_column(const Args& args, const Column& column) {
  const Tag d;
  const int64_t width = args.weight.shape[1], history = width - 1, ntokens = args.x.shape[1];
  HWY_ALIGN float taps[kMaxWidth * kLanes], bias[kLanes], y[kTileTokens * kLanes];
  HWY_ALIGN float window[(kMaxWidth + kTileTokens) * kLanes];  // oldest input first
  float* newest = window + history * kLanes;
  copy_rows(load_tile(d, taps_of(args), 0, width, column.c, column.lanes, taps), width, taps);
  hn::Store(load_bias(args, column), d, bias);
  const MutablePlane state = plane_of(args.state, column.slot, 0);
  copy_rows(load_tile(d, as_input(state), 0, history, column.c, column.lanes, window), history,
            window);
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
    for (int64_t i = 0; args.snapshots.present() && i < tokens; ++i)
      store_rows(window + (i + 1) * kLanes, history, snapshot_of(args, column.b, t + i), 0, column);
    std::copy_n(window + tokens * kLanes, history * kLanes, window);
  }
  store_rows(window, history, state, 0, column);
}

// kCount rows of a plane, of full vectors.
template <int64_t kCount>
HWY_INLINE void load_rows(const Plane& plane, int64_t c, Lanes (&rows)[kCount]) {
  const Tag d;
  const float* p = static_cast<const float*>(plane.data) + c * plane.channel_stride;
  if (plane.channel_stride == kCount && plane.token_stride == 1) {
    if constexpr (kCount == 2) return hn::LoadInterleaved2(d, p, rows[0], rows[1]);
    if constexpr (kCount == 3) return hn::LoadInterleaved3(d, p, rows[0], rows[1], rows[2]);
    if constexpr (kCount == 4)
      return hn::LoadInterleaved4(d, p, rows[0], rows[1], rows[2], rows[3]);
  }
  HWY_ALIGN float buffer[kCount * kLanes];
  const Rows from = load_tile(d, plane, 0, kCount, c, kLanes, buffer);
  for (int64_t k = 0; k < kCount; ++k) rows[k] = hn::LoadU(d, from.data + k * from.stride);
}

template <int64_t kCount>
HWY_INLINE void store_rows(const Lanes (&rows)[kCount], const MutablePlane& plane, int64_t c) {
  const Tag d;
  float* p = static_cast<float*>(plane.data) + c * plane.channel_stride;
  if (plane.channel_stride == kCount && plane.token_stride == 1) {
    if constexpr (kCount == 2) return hn::StoreInterleaved2(rows[0], rows[1], d, p);
    if constexpr (kCount == 3) return hn::StoreInterleaved3(rows[0], rows[1], rows[2], d, p);
  }
  HWY_ALIGN float buffer[kCount * kLanes];
  const MutableRows to = tile_for_store(plane, 0, c, kLanes, buffer);
  for (int64_t k = 0; k < kCount; ++k) hn::StoreU(rows[k], d, to.data + k * to.stride);
  store_tile(d, to, buffer, plane, 0, kCount, c, kLanes);
}

// A full vector of channels with the window in registers: the same sums in the same order.
template <int64_t kWidth>
HWY_INLINE void update_column(const Args& args, const Column& column) {
  const Tag d;
  const int64_t ntokens = args.x.shape[1], c = column.c;
  Lanes taps[kWidth], history[kWidth - 1];
  load_rows(taps_of(args), c, taps);
  const Lanes bias = load_bias(args, column);
  const MutablePlane state = plane_of(args.state, column.slot, 0);
  load_rows(as_input(state), c, history);
  const Plane x = plane_of(args.x, column.b, 0);
  const MutablePlane y = plane_of(args.y, column.b, 0);
  HWY_ALIGN float x_buffer[kTileTokens * kLanes], y_buffer[kTileTokens * kLanes];
  for (int64_t t = 0; t < ntokens; t += kTileTokens) {
    const int64_t tokens = std::min(kTileTokens, ntokens - t);
    const Rows from = load_tile(d, x, t, tokens, c, kLanes, x_buffer);
    const MutableRows to = tile_for_store(y, t, c, kLanes, y_buffer);
    for (int64_t i = 0; i < tokens; ++i) {
      const Lanes newest = hn::LoadU(d, from.data + i * from.stride);
      Lanes sum = bias;
      for (int64_t k = 0; k + 1 < kWidth; ++k) sum = hn::MulAdd(taps[k], history[k], sum);
      sum = hn::MulAdd(taps[kWidth - 1], newest, sum);
      if (args.activation == Activation::kSilu) sum = silu(d, sum);
      hn::StoreU(sum, d, to.data + i * to.stride);
      for (int64_t k = 0; k + 2 < kWidth; ++k) history[k] = history[k + 1];
      history[kWidth - 2] = newest;
      if (args.snapshots.present()) store_rows(history, snapshot_of(args, column.b, t + i), c);
    }
    store_tile(d, to, y_buffer, y, t, tokens, c, kLanes);
  }
  store_rows(history, state, c);
}

void update_block(const Args& args, const Column& block) {
  const int64_t width = args.weight.shape[1];
  for (int64_t i = 0; i < block.lanes; i += kLanes) {
    const Column column{block.b, block.slot, block.c + i, std::min(kLanes, block.lanes - i)};
    if (column.lanes == kLanes && width == 4)
      update_column<4>(args, column);
    else if (column.lanes == kLanes && width == 3)
      update_column<3>(args, column);
    else if (column.lanes == kLanes && width == 2)
      update_column<2>(args, column);
    else
      update_wide_column(args, column);
  }
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
      if (slot >= 0) {
        update_block(args, {b, slot, begin, end - begin});
        continue;
      }
      for (int64_t c = begin; c < end; c += kLanes)
        clear_column(args, {b, slot, c, std::min(kLanes, end - c)});
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
