// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Mamba-2 scan, one channel a lane, states in registers.
//
// Parallel over (sequence, group, 128 channels); heads of any headdim lie side by side in a block.
// A task walks its block through the sequence in tiles of 32 tokens: step sizes and decays of its
// heads; x scaled; then some states by two vectors of channels at a time, in registers over the
// tile; then skip and gate. Bound by the multiply-add pipe: docs/kernels/ssd_chunk_scan_cpu.md.
//
// A decay is the same for all states of a channel. So what is kept is h = state / scale, with scale
// the product of the decays so far: x is divided by it, y is multiplied by it, and a token costs
// two multiply-adds a state instead of three. Its logarithm is summed in double, so rounding does
// not pile up over a long memory. Where scale would leave exp(-33) ... exp(33) the state is
// multiplied out again. That makes rounding depend on where a sequence began; strict therefore
// multiplies out at every token, and then what a lane computes for a token depends on that token,
// its own state and nothing else.

#include <algorithm>
#include <cmath>

#include "core/sequences.h"
#include "cpu/ssd_chunk_scan/blocks.h"
#include "hiss/ops/ssd_chunk_scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ssd_chunk_scan/state_in_registers.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/ssd_chunk_scan/segment-inl.h"
#include "cpu/ssd_chunk_scan/state_tile-inl.h"
#include "cpu/ssd_chunk_scan/steps-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

using Args = SsdChunkScan::Args;
using ssd::Block;
using ssd::Blocks;
using ssd::kBlockChannels;
using ssd::kRow;
using ssd::kTileTokens;
using ssd::Scratch;
using ssd::Segment;
using ssd_tile::Rescalings;

using Tag = hn::ScalableTag<float>;
using Lanes = hn::Vec<Tag>;
constexpr int64_t kLanes = HWY_LANES(float);

// One block of one sequence.
struct Task {
  const Args& args;
  Sequence sequence;
  Blocks blocks;
  Block block;
  Scratch& scratch;

  int64_t dstate() const { return args.B.shape[3]; }
  template <class Body>
  void for_each_segment(Body&& body) const {
    ssd::for_each_segment(blocks, block, body);
  }
};

// h = states of row `row` of a (rows, nheads, headdim, dstate) tensor, zeros without it; scale 1.
void load_state(const Task& task, const ConstTensorView& states, int64_t row) {
  float* h = task.scratch.h();
  std::fill_n(task.scratch.log_scale, kBlockChannels, 0.0);
  std::fill_n(h, task.dstate() * kRow, 0.0f);
  if (!states.present()) return;
  task.for_each_segment([&](const Segment& segment) HWY_ATTR {
    load_segment_state(ssd::state_plane(states, row * states.stride[0], segment.head), segment,
                       task.dstate(), h + segment.column, kRow);
  });
}

// scale * h, to the states that begin `offset` elements into `states`.
void store_state(const Task& task, const TensorView& states, int64_t offset) {
  task.for_each_segment([&](const Segment& segment) HWY_ATTR {
    const double scale = std::exp(task.scratch.log_scale[segment.local]);
    store_segment_state(task.scratch.h() + segment.column, kRow, static_cast<float>(scale), segment,
                        task.dstate(), ssd::state_plane(states, offset, segment.head));
  });
}

// Scales within exp(-33) ... exp(33). NaN is not.
bool is_fit(double log_scale) { return std::abs(log_scale) <= 33.0; }

// From log_decay: scale of each token and head, and before which tokens and by what h is to be
// multiplied.
void make_scales(const Task& task, int64_t heads, int64_t tokens, Rescalings& rescalings) {
  Scratch& s = task.scratch;
  const bool strict = task.args.precision == Precision::kStrict;
  rescalings.count = 0;
  const auto rescale = [&](int64_t t) {
    rescalings.tokens[rescalings.count] = t;
    return s.log_rescale + kBlockChannels * rescalings.count++;
  };
  for (int64_t t = 0; t < tokens; ++t) {
    bool keep = !strict, decay_fits = !strict, scaled = false;
    for (int64_t k = 0; k < heads; ++k) {
      const double decay = s.log_decay[k * kTileTokens + t];
      keep = keep && is_fit(s.log_scale[k] + decay);
      decay_fits = decay_fits && is_fit(decay);
      scaled = scaled || s.log_scale[k] != 0.0;
    }
    if (!keep && scaled) {
      std::copy_n(s.log_scale, heads, rescale(t));
      std::fill_n(s.log_scale, heads, 0.0);
    }
    // In two steps, since scale * decay may be below what a float can hold.
    double* factors = decay_fits ? nullptr : rescale(t);
    for (int64_t k = 0; k < heads; ++k) {
      const double decay = s.log_decay[k * kTileTokens + t];
      if (factors != nullptr)
        factors[k] = decay;
      else
        s.log_scale[k] += decay;
      s.log_scales[k * kTileTokens + t] = s.log_scale[k];
    }
  }
  rescalings.tokens[rescalings.count] = tokens;
  for (int64_t k = 0; k < heads; ++k)
    exp_of_doubles(s.log_scales + k * kTileTokens, tokens, s.scale + k * kTileTokens);
  for (int64_t i = 0; i < rescalings.count; ++i)
    exp_of_doubles(s.log_rescale + i * kBlockChannels, heads, s.rescale + i * kBlockChannels);
}

// x of the tile, scaled, and the rows of factors.
void scale_inputs(const Task& task, int64_t t, int64_t tokens, const Rescalings& rescalings) {
  const Tag d;
  Scratch& s = task.scratch;
  task.for_each_segment([&](const Segment& segment) HWY_ATTR {
    const Plane x = ssd::head_plane(task.args.x, task.sequence, t, segment.head);
    const Rows rows = segment_rows(x, tokens, segment.p, segment.channels, s.x_buffer);
    const int64_t head = segment.local * kTileTokens;
    for (int64_t i = 0; i < tokens; ++i) {
      const Lanes weight = hn::Set(d, s.delta[head + i] / s.scale[head + i]);
      float* to = s.x + i * kRow + segment.column;
      for_each_vector_of_row(segment.channels, [&](int64_t c, auto load, auto) HWY_ATTR {
        hn::StoreU(hn::Mul(weight, load(rows.data + i * rows.stride + c)), d, to + c);
      });
    }
    for (int64_t i = 0; i < rescalings.count; ++i) {
      const Lanes factor = hn::Set(d, s.rescale[i * kBlockChannels + segment.local]);
      for (int64_t c = 0; c < segment.channels; c += kLanes)
        hn::StoreU(factor, d, s.factors + i * kRow + segment.column + c);
    }
  });
}

void skip_and_gate(const Task& task, int64_t t, int64_t tokens) {
  Scratch& s = task.scratch;
  const RowBuffers buffers{s.x_buffer, s.y_buffer, s.z_buffer};
  task.for_each_segment([&](const Segment& segment) HWY_ATTR {
    skip_and_gate(task.args, task.sequence, segment, t, tokens, s.y + segment.column,
                  s.scale + segment.local * kTileTokens, s.D + segment.column, buffers);
  });
}

// The block's rows of v from token t on, where the heads lie side by side.
ssd::Ahead ahead(const Task& task, const ConstTensorView& v, int64_t t) {
  const int64_t headdim = task.blocks.headdim, head = task.block.first / headdim;
  if (!v.present() || t >= task.sequence.length || v.stride[2] != headdim * v.stride[3]) return {};
  const int64_t first = task.block.group * task.blocks.group_heads + head;
  return ssd::ahead_of(ssd::head_plane(v, task.sequence, t, first),
                       task.block.first - head * headdim, task.block.channels,
                       std::min(kTileTokens, task.sequence.length - t));
}

// One block through sequence s.
void scan_block(const Task& task, int64_t s) {
  const Args& args = task.args;
  const Sequence& sequence = task.sequence;
  const int64_t dstate = task.dstate(), vectors = (task.block.channels + kLanes - 1) / kLanes;
  Rescalings rescalings;
  if (dstate == 0) std::fill_n(task.scratch.y, kTileTokens * kRow, 0.0f);
  task.for_each_segment(
      [&](const Segment& segment) { load_D(args.D, segment, task.scratch.D + segment.column); });
  load_state(task, args.initial_states, s);
  for (int64_t done = 0; done < sequence.length;) {
    const int64_t tokens = ssd::next_tile(args, sequence, done, kTileTokens);
    int64_t heads = 0;
    task.for_each_segment([&](const Segment& segment) HWY_ATTR {
      const int64_t row = segment.local * kTileTokens;
      step_sizes(args, sequence, segment.head, done, tokens, task.scratch.delta + row,
                 task.scratch.log_decay + row);
      heads = segment.local + 1;
    });
    make_scales(task, heads, tokens, rescalings);
    scale_inputs(task, done, tokens, rescalings);
    ssd_tile::pack_states(ssd::head_plane(args.B, sequence, done, task.block.group),
                          ssd::head_plane(args.C, sequence, done, task.block.group), tokens, dstate,
                          task.scratch.B_and_C(dstate));
    const int64_t next = done + tokens;
    ssd_tile::scan_columns(
        vectors, tokens, dstate, rescalings,
        {ahead(task, args.x, next), ahead(task, args.y, next), ahead(task, args.z, next)},
        task.scratch);
    skip_and_gate(task, done, tokens);
    done += tokens;

    const TensorView& saved = args.checkpoint_states;
    for (int64_t k = 0; k < ssd::checkpoints(args); ++k)
      if (index_at(args.checkpoint_tokens, k) == sequence.begin + done - 1)
        store_state(task, saved, sequence.row * saved.stride[0] + k * saved.stride[1]);
  }
  if (args.final_states.present())
    store_state(task, args.final_states, s * args.final_states.stride[0]);
}

Status run(const Args& args, const Launch& launch) {
  const int64_t nseq = args.cu_seqlens.present() ? args.cu_seqlens.shape[0] - 1 : args.x.shape[0];
  const Blocks blocks = ssd::blocks_of(args.x.shape[2], args.x.shape[3], args.B.shape[2]);
  const int64_t tasks = nseq * blocks.count, runs = ssd::runs_of(tasks);
  const size_t scratch_bytes = Scratch::bytes(args.B.shape[3]);
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  executor.run(runs, [&](int64_t run, int) HWY_ATTR {
    auto* scratch = new (launch.workspace.data() + run * scratch_bytes) Scratch;
    for (int64_t i = tasks * run / runs; i < tasks * (run + 1) / runs; ++i) {
      const int64_t s = i / blocks.count;
      scan_block({args, sequence_at(args.cu_seqlens, args.x.shape[1], s), blocks,
                  ssd::block_at(blocks, i % blocks.count), *scratch},
                 s);
    }
  });
  return {};
}

}  // namespace
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace hiss::cpu::HISS_ISA::ssd_chunk_scan {
extern constinit const Kernel<SsdChunkScan> state_in_registers;
constinit const Kernel<SsdChunkScan> state_in_registers{
    .name = "ssd_chunk_scan/cpu." HISS_ISA_NAME ".state_in_registers",
    .why_not = ssd::why_not<&Machine::HISS_ISA>,
    .workspace_bytes = ssd::workspace_bytes,
    .run = HWY_NAMESPACE::run};
}  // namespace hiss::cpu::HISS_ISA::ssd_chunk_scan
#endif  // HISS_ISA
