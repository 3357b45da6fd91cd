// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Mamba-1 scan, one channel a lane.
//
// Parallel over (sequence, 64 channels). A task walks its vectors of channels through the sequence
// in tiles of 32 tokens: delta for the whole tile; then up to 16 states at a time with h in
// registers over the tile, B and C broadcast from memory; then skip and gate. Any dstate is a sum
// of blocks of 16, 8, 4, 2 and 1 states, so no size falls off a cliff. Bound by the multiply-add
// pipe, mostly by the decay's exponential: docs/kernels/selective_scan_cpu.md.
//
// Serves strict: what one lane computes for one token depends on that token, its own state and
// nothing else. Tiles, tasks and neighbours change where values wait (registers or F32 memory),
// never how they are rounded; the range that chooses the cheap form of the decay chooses between
// forms with equal results.

#include <algorithm>
#include <cmath>

#include "core/sequences.h"
#include "cpu/selective_scan/channel_blocks.h"
#include "hiss/ops/selective_scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/selective_scan/lanes_over_dim.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/selective_scan/scan_tile-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

using Args = SelectiveScan::Args;

// One vector of channels: `lanes` of them from `channel` on, of one group.
struct Block {
  int64_t channel, lanes, group;
  float* rates;    // (dstate, 2, kLanes): prepare_decay's high and low of each state
  float* largest;  // (kLanes): the largest |high| of each lane
};

Block block_at(const ChannelBlocks& blocks, int64_t i, int64_t dstate, float* workspace) {
  const int64_t group = i / blocks.per_group, at = i % blocks.per_group * kLanes;
  float* rates = workspace + i * (2 * dstate + 1) * kLanes;
  return {group * blocks.group_dim + at, std::min(kLanes, blocks.group_dim - at), group, rates,
          rates + 2 * dstate * kLanes};
}

void prepare_block(const Args& args, const Block& block) {
  const LanesTag d;
  const int64_t dstate = args.A.shape[1];
  const float* A = args.A.as<float>() + block.channel * args.A.stride[0];
  Lanes largest = hn::Zero(d);
  for (int64_t n = 0; n < dstate; ++n) {
    HWY_ALIGN float lanes[kLanes] = {};
    for (int64_t lane = 0; lane < block.lanes; ++lane)
      lanes[lane] = A[lane * args.A.stride[0] + n * args.A.stride[1]];
    Lanes a = hn::Load(d, lanes);
    if (args.A_is_log) a = hn::Neg(exp(d, a));
    Lanes high, low;
    prepare_decay(d, a, high, low);
    hn::Store(high, d, block.rates + 2 * n * kLanes);
    hn::Store(low, d, block.rates + (2 * n + 1) * kLanes);
    largest = hn::Max(hn::Abs(high), largest);
  }
  hn::Store(largest, d, block.largest);
}

// h (dstate, kLanes) from and to row `row` of a (rows, dim, dstate) tensor of states.
void load_state(const ConstTensorView& states, int64_t row, const Block& block, int64_t dstate,
                float* h) {
  std::fill_n(h, dstate * kLanes, 0.0f);
  if (!states.present()) return;
  const float* p = states.as<float>() + row * states.stride[0] + block.channel * states.stride[1];
  for (int64_t lane = 0; lane < block.lanes; ++lane)
    for (int64_t n = 0; n < dstate; ++n)
      h[n * kLanes + lane] = p[lane * states.stride[1] + n * states.stride[2]];
}

void store_state(const float* h, const Block& block, int64_t dstate, float* p,
                 int64_t channel_stride, int64_t state_stride) {
  p += block.channel * channel_stride;
  for (int64_t lane = 0; lane < block.lanes; ++lane)
    for (int64_t n = 0; n < dstate; ++n)
      p[lane * channel_stride + n * state_stride] = h[n * kLanes + lane];
}

// B or C of a tile, `states` states from n on, as floats with stride 1.
Rows load_state_rows(const Plane& plane, int64_t t, int64_t tokens, int64_t n, int64_t states,
                     float* buffer) {
  const int64_t first = t * plane.token_stride + n * plane.channel_stride;
  if (plane.dtype == DType::kF32 && plane.channel_stride == 1)
    return {static_cast<const float*>(plane.data) + first, plane.token_stride};
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t k = 0; k < states; ++k)
      buffer[i * kMaxStates + k] =
          float_at(plane, first + i * plane.token_stride + k * plane.channel_stride);
  return {buffer, kMaxStates};
}

// All states of a tile: tile.y = sum_n C[n] h[n].
template <bool kAnyRange>
void scan_all_states(const Plane& B, const Plane& C, int64_t t, ScanOrder order, const Block& block,
                     int64_t dstate, ScanTile& tile, float* h) {
  HWY_ALIGN float B_buffer[kTileTokens * kMaxStates], C_buffer[kTileTokens * kMaxStates];
  for (int64_t n = 0, states = kMaxStates; n < dstate; n += states) {
    while (states > dstate - n) states /= 2;
    order.B = load_state_rows(B, t, order.tokens, n, states, B_buffer);
    order.C = load_state_rows(C, t, order.tokens, n, states, C_buffer);
    const auto scan = [&]<size_t kStates>() HWY_ATTR {
      if constexpr (kStates <= kMaxStates)
        scan_states<kAnyRange>(std::make_index_sequence<kStates>(), order, n == 0,
                               block.rates + 2 * n * kLanes, tile, h + n * kLanes);
    };
    switch (states) {
      case 16:
        scan.template operator()<16>();
        break;
      case 8:
        scan.template operator()<8>();
        break;
      case 4:
        scan.template operator()<4>();
        break;
      case 2:
        scan.template operator()<2>();
        break;
      default:
        scan.template operator()<1>();
    }
  }
}

// One vector of channels through sequence s.
void scan_block(const Args& args, int64_t s, const Block& block) {
  const LanesTag d;
  const int64_t dstate = args.A.shape[1];
  const Sequence sequence = sequence_at(args.cu_seqlens, args.u.shape[1], s);
  const bool forward = args.direction == Direction::kForward;
  const int64_t row = sequence.row, begin = sequence.begin, c = block.channel;
  const Plane u = plane_of(args.u, row, begin), dt = plane_of(args.dt, row, begin);
  const Plane z = plane_of(args.z, row, begin);
  const MutablePlane y = plane_of(args.y, row, begin);
  const Plane B = state_plane_of(args.B, row, begin, block.group);
  const Plane C = state_plane_of(args.C, row, begin, block.group);
  const auto channel_vector = [&](const ConstTensorView& v) HWY_ATTR {
    HWY_ALIGN float lanes[kLanes] = {};
    for (int64_t lane = 0; v.present() && lane < block.lanes; ++lane)
      lanes[lane] = v.as<float>()[(c + lane) * v.stride[0]];
    return hn::Load(d, lanes);
  };
  const Lanes dt_bias = channel_vector(args.dt_bias), D = channel_vector(args.D);
  const Lanes largest_rate = hn::Load(d, block.largest);

  HWY_ALIGN float h[kMaxDstate * kLanes];
  HWY_ALIGN float buffers[4][kTileTokens * kLanes];
  ScanTile tile;
  load_state(args.initial_state, s, block, dstate, h);
  for (int64_t done = 0; done < sequence.length;) {
    const int64_t tokens =
        tokens_to_checkpoint(args, sequence, done, std::min(kTileTokens, sequence.length - done));
    const int64_t t = forward ? done : sequence.length - done - tokens;
    const Rows u_rows = load_tile(d, u, t, tokens, c, block.lanes, buffers[0]);
    const Rows dt_rows = load_tile(d, dt, t, tokens, c, block.lanes, buffers[1]);
    const Lanes largest = step_sizes(args, dt_rows, u_rows, tokens, dt_bias, tile);
    const ScanOrder order{tokens, forward ? 0 : tokens - 1, forward ? 1 : -1, {}, {}};
    const auto near = hn::Le(hn::Mul(largest, largest_rate), hn::Set(d, kNearDecay));
    if (hn::AllTrue(d, near))
      scan_all_states<false>(B, C, t, order, block, dstate, tile, h);
    else
      scan_all_states<true>(B, C, t, order, block, dstate, tile, h);
    Rows z_rows{nullptr, 0};
    if (z.data != nullptr) z_rows = load_tile(d, z, t, tokens, c, block.lanes, buffers[2]);
    const MutableRows y_rows = tile_for_store(y, t, c, block.lanes, buffers[3]);
    skip_and_gate(tile, u_rows, z_rows, tokens, D, args.D.present(), y_rows);
    store_tile(d, y_rows, buffers[3], y, t, tokens, c, block.lanes);
    done += tokens;

    const int64_t last = begin + (forward ? t + tokens - 1 : t);
    const TensorView& saved = args.checkpoint_states;
    for (int64_t k = 0; k < checkpoints(args); ++k)
      if (index_at(args.checkpoint_tokens, k) == last)
        store_state(h, block, dstate,
                    saved.as<float>() + row * saved.stride[0] + k * saved.stride[1],
                    saved.stride[2], saved.stride[3]);
  }
  const TensorView& final = args.final_state;
  if (final.present())
    store_state(h, block, dstate, final.as<float>() + s * final.stride[0], final.stride[1],
                final.stride[2]);
}

Status run(const Args& args, const Launch& launch) {
  const int64_t dstate = args.A.shape[1];
  const int64_t nseq = args.cu_seqlens.present() ? args.cu_seqlens.shape[0] - 1 : args.u.shape[0];
  const ChannelBlocks blocks = channel_blocks(args.u.shape[2], args.B.shape[2], kLanes);
  auto* workspace = reinterpret_cast<float*>(launch.workspace.data());
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  // 64 channels: whole cache lines, so tasks do not share one.
  constexpr int64_t kTaskBlocks = 64 / kLanes;
  const int64_t runs = (blocks.count + kTaskBlocks - 1) / kTaskBlocks;
  const auto for_each_block = [&](int64_t run, auto&& body) HWY_ATTR {
    const int64_t end = std::min(blocks.count, (run + 1) * kTaskBlocks);
    for (int64_t i = run * kTaskBlocks; i < end; ++i) body(block_at(blocks, i, dstate, workspace));
  };
  executor.run(runs, [&](int64_t task, int) HWY_ATTR {
    for_each_block(task, [&](const Block& block) HWY_ATTR { prepare_block(args, block); });
  });
  executor.run(nseq * runs, [&](int64_t task, int) HWY_ATTR {
    for_each_block(task % runs,
                   [&](const Block& block) HWY_ATTR { scan_block(args, task / runs, block); });
  });
  return {};
}

}  // namespace
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace hiss::cpu::HISS_ISA::selective_scan {
extern constinit const Kernel<SelectiveScan> lanes_over_dim;
constinit const Kernel<SelectiveScan> lanes_over_dim{
    .name = "selective_scan/cpu." HISS_ISA_NAME ".lanes_over_dim",
    .why_not = why_not<&Machine::HISS_ISA>,
    .workspace_bytes = workspace_bytes<HWY_LANES(float)>,
    .run = HWY_NAMESPACE::run};
}  // namespace hiss::cpu::HISS_ISA::selective_scan
#endif  // HISS_ISA
