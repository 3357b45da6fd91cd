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
// never how they are rounded; the range of a tile's delta chooses between forms of the decay with
// equal results.

#include <algorithm>
#include <cmath>
#include <span>

#include "core/sequences.h"
#include "cpu/selective_scan/channel_runs.h"
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

// One vector of channels: `lanes` of them from `channel` on.
struct Block {
  int64_t channel, lanes;
  float* rates;  // (dstate + 2, kLanes): prepare_decay of each state, then each lane's least and
                 // largest
};

// Up to 64 channels of one group: what a task works on. Whole cache lines, so that tasks do not
// share one.
struct Run {
  int64_t group, channel, channels, blocks;
  float* workspace;

  Run(const Args& args, int64_t i, std::span<std::byte> memory) {
    const ChannelRuns runs = channel_runs(args.u.shape[2], args.B.shape[2]);
    group = i / runs.per_group;
    const int64_t at = i % runs.per_group * kRunChannels;
    channel = group * runs.group_dim + at;
    channels = std::min(kRunChannels, runs.group_dim - at);
    blocks = (channels + kLanes - 1) / kLanes;
    workspace = reinterpret_cast<float*>(memory.data()) + i * kRunChannels * (args.A.shape[1] + 2);
  }
  Block block(int64_t i, int64_t dstate) const {
    float* rates = workspace + i * kLanes * (dstate + 2);
    return {channel + i * kLanes, std::min(kLanes, channels - i * kLanes), rates};
  }
};

// A value a channel; zeros without the tensor.
Lanes channel_vector(const ConstTensorView& v, const Block& block) {
  const LanesTag d;
  if (!v.present()) return hn::Zero(d);
  const float* p = v.as<float>() + block.channel * v.stride[0];
  if (v.stride[0] == 1 && block.lanes == kLanes) return hn::LoadU(d, p);
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t lane = 0; lane < block.lanes; ++lane) lanes[lane] = p[lane * v.stride[0]];
  return hn::Load(d, lanes);
}

// A (dim, dstate) matrix with its states where a plane has tokens: what moves tiles of a sequence
// then moves A and h, and any strides are served.
template <class Void>
BasicPlane<Void> state_major(Void* data, int64_t channel_stride, int64_t state_stride) {
  return {data, DType::kF32, state_stride, channel_stride};
}

void prepare_block(const Args& args, const Block& block) {
  const LanesTag d;
  const int64_t dstate = args.A.shape[1];
  const Plane A = state_major(args.A.data, args.A.stride[0], args.A.stride[1]);
  const Rows rows = load_tile(d, A, 0, dstate, block.channel, block.lanes, block.rates);
  Lanes smallest = hn::Zero(d), largest = hn::Zero(d);
  for (int64_t n = 0; n < dstate; ++n) {
    Lanes a = hn::LoadU(d, rows.data + n * rows.stride);
    if (args.A_is_log) a = hn::Neg(exp(d, a));
    const Lanes rate = prepare_decay(d, a);
    hn::Store(rate, d, block.rates + n * kLanes);
    smallest = hn::Min(rate, smallest);
    largest = hn::Max(rate, largest);
  }
  hn::Store(smallest, d, block.rates + dstate * kLanes);
  hn::Store(largest, d, block.rates + (dstate + 1) * kLanes);
}

// h (dstate, kLanes) from and to row `row` of a (rows, dim, dstate) tensor of states.
void load_state(const ConstTensorView& states, int64_t row, const Block& block, int64_t dstate,
                float* h) {
  const LanesTag d;
  if (!states.present()) {
    std::fill_n(h, dstate * kLanes, 0.0f);
    return;
  }
  const Plane plane = state_major<const void>(states.as<float>() + row * states.stride[0],
                                              states.stride[1], states.stride[2]);
  const Rows rows = load_tile(d, plane, 0, dstate, block.channel, block.lanes, h);
  if (rows.data == h) return;
  for (int64_t n = 0; n < dstate; ++n)
    hn::Store(hn::LoadU(d, rows.data + n * rows.stride), d, h + n * kLanes);
}

void store_state(const float* h, const Block& block, int64_t dstate, const MutablePlane& plane) {
  const LanesTag d;
  HWY_ALIGN float buffer[kTileTokens * kLanes];
  for (int64_t n = 0; n < dstate; n += kTileTokens, h += kTileTokens * kLanes) {
    const int64_t states = std::min(kTileTokens, dstate - n);
    const MutableRows rows = tile_for_store(plane, n, block.channel, block.lanes, buffer);
    for (int64_t k = 0; k < states; ++k)
      hn::StoreU(hn::Load(d, h + k * kLanes), d, rows.data + k * rows.stride);
    store_tile(d, rows, buffer, plane, n, states, block.channel, block.lanes);
  }
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
template <DecayRange kRange, bool kFast>
void scan_all_states(const Plane& B, const Plane& C, int64_t t, ScanOrder order, const Block& block,
                     int64_t dstate, ScanTile& tile, float* h, Ahead& ahead) {
  HWY_ALIGN float B_buffer[kTileTokens * kMaxStates], C_buffer[kTileTokens * kMaxStates];
  for (int64_t n = 0, states = kMaxStates; n < dstate; n += states) {
    while (states > dstate - n) states /= 2;
    order.B = load_state_rows(B, t, order.tokens, n, states, B_buffer);
    order.C = load_state_rows(C, t, order.tokens, n, states, C_buffer);
    const auto scan = [&]<size_t kStates>() HWY_ATTR {
      if constexpr (kStates <= kMaxStates)
        scan_states<kRange, kFast>(std::make_index_sequence<kStates>(), order, n == 0,
                                   block.rates + n * kLanes, tile, h + n * kLanes, ahead);
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

// The cheapest form of the scan that is right for the steps of a tile.
template <bool kFast>
decltype(&scan_all_states<DecayRange::kAny, kFast>) scan_for(const StepRange& steps,
                                                             const Block& block, int64_t dstate) {
  const LanesTag d;
  const float* rates = block.rates + dstate * kLanes;
  const Lanes smallest = hn::Load(d, rates), largest = hn::Load(d, rates + kLanes);
  const auto near = [&](Lanes x)
                        HWY_ATTR { return hn::AllTrue(d, hn::Le(x, hn::Set(d, kNearDecay))); };
  if (!hn::AllTrue(d, hn::Ge(steps.smallest, hn::Zero(d))) ||
      !near(hn::Mul(steps.largest, largest)))
    return scan_all_states<DecayRange::kAny, kFast>;
  return near(hn::Neg(hn::Mul(steps.largest, smallest)))
             ? scan_all_states<DecayRange::kNear, kFast>
             : scan_all_states<DecayRange::kNoGrowth, kFast>;
}

// The planes of one sequence from channel `channel` on, and of one tile of it from its first token
// on.
struct Planes {
  Plane u, dt, z;
  MutablePlane y;

  Planes at(int64_t t, int64_t c) const {
    return {plane_at(u, t, c), plane_at(dt, t, c), plane_at(z, t, c), plane_at(y, t, c)};
  }
};

// Rows of at least a page apart are a cache and a TLB miss for each token. They are read and
// written for all channels of a run at once, which is several times faster than a line at a time.
bool rows_far_apart(const Planes& p) {
  const auto far = [](const auto& plane) {
    return plane.data == nullptr || (plane.dtype == DType::kF32 && plane.channel_stride == 1 &&
                                     std::abs(plane.token_stride) >= 1024);
  };
  return far(p.u) && far(p.dt) && far(p.z) && far(p.y);
}

// A copy of a tile of a run.
using RunBuffer = float[kTileTokens * kRunChannels];
Plane copied(const Plane& plane, int64_t tokens, int64_t channels, RunBuffer& buffer) {
  if (plane.data == nullptr) return plane;
  const float* from = static_cast<const float*>(plane.data);
  for (int64_t i = 0; i < tokens; ++i)
    copy_elements(from + i * plane.token_stride, channels, buffer + i * kRunChannels);
  return {buffer, DType::kF32, kRunChannels, 1};
}

// One run of channels through sequence s.
class RunScan {
 public:
  RunScan(const Args& args, int64_t s, const Run& run)
      : args_(args),
        s_(s),
        run_(run),
        dstate_(args.A.shape[1]),
        forward_(args.direction == Direction::kForward),
        sequence_(sequence_at(args.cu_seqlens, args.u.shape[1], s)) {
    const int64_t row = sequence_.row, begin = sequence_.begin;
    planes_ = {plane_of(args.u, row, begin), plane_of(args.dt, row, begin),
               plane_of(args.z, row, begin), plane_of(args.y, row, begin)};
    B_ = state_plane_of(args.B, row, begin, run.group);
    C_ = state_plane_of(args.C, row, begin, run.group);
  }

  void scan() {
    const int64_t length = sequence_.length;
    const bool copy = rows_far_apart(planes_);
    for_each_block([&](const Block& block) HWY_ATTR {
      load_state(args_.initial_state, s_, block, dstate_, states_of(block));
    });
    for (int64_t done = 0, tokens = 0; done < length; done += tokens) {
      tokens = tokens_to_checkpoint(args_, sequence_, done, std::min(kTileTokens, length - done));
      const int64_t t = forward_ ? done : length - done - tokens;
      const Planes tile = planes_.at(t, run_.channel);
      look_ahead(done + tokens);
      if (copy)
        scan_copied(tile, t, tokens);
      else
        for_each_block([&](const Block& block) HWY_ATTR { scan_block(tile, t, tokens, block); });
      store_checkpoints(forward_ ? t + tokens - 1 : t);
    }
    const TensorView& v = args_.final_state;
    if (v.present()) store_states(v.as<float>() + s_ * v.stride[0], v.stride[1], v.stride[2]);
  }

 private:
  template <class F>
  void for_each_block(F&& f) {
    for (int64_t i = 0; i < run_.blocks; ++i) f(run_.block(i, dstate_));
  }
  float* states_of(const Block& block) {
    return states_ + (block.channel - run_.channel) * dstate_;
  }

  // From the tile after `done` tokens; at the end, from where the next run of channels begins.
  void look_ahead(int64_t done) {
    const int64_t length = sequence_.length;
    const bool more = done < length;
    const int64_t c = run_.channel + (more ? 0 : run_.channels);
    ahead_ = {};
    if (c >= args_.u.shape[2]) return;
    const int64_t first = more ? done : 0, rows = std::min(kTileTokens, length - first);
    const Planes next = planes_.at(forward_ ? first : length - first - rows, c);
    ahead_.add(next.u, run_.channels), ahead_.add(next.dt, run_.channels);
    ahead_.add(next.z, run_.channels), ahead_.add(next.y, run_.channels);
    ahead_.rows_left = rows;
  }

  void scan_copied(const Planes& tile, int64_t t, int64_t tokens) {
    const Planes copy{copied(tile.u, tokens, run_.channels, u_buffer_),
                      copied(tile.dt, tokens, run_.channels, dt_buffer_),
                      copied(tile.z, tokens, run_.channels, z_buffer_),
                      {y_buffer_, DType::kF32, kRunChannels, 1}};
    for_each_block([&](const Block& block) HWY_ATTR { scan_block(copy, t, tokens, block); });
    for (int64_t i = 0; i < tokens; ++i)
      copy_elements(y_buffer_ + i * kRunChannels, run_.channels,
                    static_cast<float*>(tile.y.data) + i * tile.y.token_stride);
  }

  // Tokens [t, t + tokens) of one vector of channels; tile starts at token t and at the run.
  void scan_block(const Planes& tile, int64_t t, int64_t tokens, const Block& block) {
    if (args_.precision == Precision::kFast)
      scan_block_as<true>(tile, t, tokens, block);
    else
      scan_block_as<false>(tile, t, tokens, block);
  }
  template <bool kFast>
  void scan_block_as(const Planes& tile, int64_t t, int64_t tokens, const Block& block) {
    const LanesTag d;
    const int64_t c = block.channel - run_.channel;
    const Lanes dt_bias = channel_vector(args_.dt_bias, block);
    const Rows u = load_tile(d, tile.u, 0, tokens, c, block.lanes, u_rows_);
    const Rows dt = load_tile(d, tile.dt, 0, tokens, c, block.lanes, rows_);
    const StepRange steps = step_sizes<kFast>(args_, dt, u, tokens, dt_bias, scratch_);
    const ScanOrder order{tokens, forward_ ? 0 : tokens - 1, forward_ ? 1 : -1, {}, {}};
    const auto scan = scan_for<kFast>(steps, block, dstate_);
    scan(B_, C_, t, order, block, dstate_, scratch_, states_of(block), ahead_);
    Rows z{nullptr, 0};
    if (tile.z.data != nullptr) z = load_tile(d, tile.z, 0, tokens, c, block.lanes, rows_);
    const MutableRows y = tile_for_store(tile.y, 0, c, block.lanes, scratch_.delta);
    const Lanes D = channel_vector(args_.D, block);
    skip_and_gate<kFast>(scratch_, u, z, tokens, D, args_.D.present(), y);
    store_tile(d, y, scratch_.delta, tile.y, 0, tokens, c, block.lanes);
  }

  // After local token t.
  void store_checkpoints(int64_t t) {
    const TensorView& v = args_.checkpoint_states;
    for (int64_t k = 0; k < checkpoints(args_); ++k)
      if (index_at(args_.checkpoint_tokens, k) == sequence_.begin + t)
        store_states(v.as<float>() + sequence_.row * v.stride[0] + k * v.stride[1], v.stride[2],
                     v.stride[3]);
  }
  void store_states(float* p, int64_t channel_stride, int64_t state_stride) {
    for_each_block([&](const Block& block) HWY_ATTR {
      store_state(states_of(block), block, dstate_,
                  state_major<void>(p, channel_stride, state_stride));
    });
  }

  const Args& args_;
  const int64_t s_;
  const Run run_;
  const int64_t dstate_;
  const bool forward_;
  const Sequence sequence_;
  Planes planes_;
  Plane B_, C_;
  Ahead ahead_;
  ScanTile scratch_;
  HWY_ALIGN float u_rows_[kTileTokens * kLanes];
  HWY_ALIGN float rows_[kTileTokens * kLanes];
  HWY_ALIGN RunBuffer u_buffer_, dt_buffer_, z_buffer_, y_buffer_;
  HWY_ALIGN float states_[kMaxDstate * kRunChannels];
};

Status run(const Args& args, const Launch& launch) {
  const int64_t dstate = args.A.shape[1];
  const int64_t nseq = args.cu_seqlens.present() ? args.cu_seqlens.shape[0] - 1 : args.u.shape[0];
  const int64_t runs = channel_runs(args.u.shape[2], args.B.shape[2]).count;
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  executor.run(runs, [&](int64_t task, int) HWY_ATTR {
    const Run run(args, task, launch.workspace);
    for (int64_t i = 0; i < run.blocks; ++i) prepare_block(args, run.block(i, dstate));
  });
  executor.run(nseq * runs, [&](int64_t task, int) HWY_ATTR {
    RunScan(args, task / runs, Run(args, task % runs, launch.workspace)).scan();
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
    .workspace_bytes = workspace_bytes,
    .run = HWY_NAMESPACE::run};
}  // namespace hiss::cpu::HISS_ISA::selective_scan
#endif  // HISS_ISA
