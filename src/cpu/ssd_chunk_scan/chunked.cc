// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Mamba-2 scan in chunks of tokens, as matrix products of bf16 with sums in F32 (Dao & Gu 2024,
// section 6). The state stays in F32 and is rounded where it is an operand.
//
// Parallel over (sequence, group, some heads). A task walks the sequence chunk by chunk. B and C
// are rounded and C B^T made once, for all its heads. Then each head: y of a chunk is C times the
// state before it, plus the tokens since its beginning mixed by C B^T times decays; the new state
// is the old one decayed, plus B^T x. Bound by the dot products:
// docs/kernels/ssd_chunk_scan_cpu.md.

#include <algorithm>

#include "core/sequences.h"
#include "cpu/ssd_chunk_scan/chunks.h"
#include "hiss/ops/ssd_chunk_scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ssd_chunk_scan/chunked.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/ssd_chunk_scan/mixing-inl.h"
#include "cpu/ssd_chunk_scan/steps-inl.h"

#if defined(HISS_ISA) && HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

using Args = SsdChunkScan::Args;
using Arrays = ssd::ChunkScratch::Arrays;
using ssd::ChunkScratch;
using ssd::HeadSegment;
using ssd::kPairs;
using ssd::kRow;
using ssd::kTileTokens;

constexpr int64_t kLanes = HWY_LANES(float);

// Segments [first, last) of a group, in one sequence.
struct Task {
  const Args& args;
  Sequence sequence;
  ssd::Chunks chunks;
  int64_t group, first, last;
  ChunkScratch& scratch;
  Arrays arrays;

  // body(segment, its h, its h_rounded)
  template <class Body>
  void for_each_segment(Body&& body) const {
    const int64_t floats = ChunkScratch::padded_states(chunks.dstate) * chunks.width();
    for (int64_t i = first; i < last; ++i)
      body(ssd::chunk_segment(chunks, group, i), arrays.h + (i - first) * floats,
           arrays.h_rounded + (i - first) * floats / 2);
  }
};

void load_state(const Task& task, int64_t s) {
  const ConstTensorView& states = task.args.initial_states;
  const int64_t dstate = task.chunks.dstate, width = task.chunks.width();
  task.for_each_segment([&](const HeadSegment& segment, float* h, float* h_rounded) HWY_ATTR {
    std::fill_n(h, ChunkScratch::padded_states(dstate) * width, 0.0f);
    if (!states.present()) return;
    load_segment_state(ssd::state_plane(states, s * states.stride[0], segment.head), segment,
                       dstate, h, width);
    for (int64_t n = 0; n < dstate; n += 2)
      bf16::pair_rows(h + n * width, h + (n + 1) * width, width, 1.0f, 1.0f,
                      h_rounded + n / 2 * width);
  });
}

void store_state(const Task& task, const TensorView& states, int64_t offset) {
  task.for_each_segment([&](const HeadSegment& segment, const float* h, float*) HWY_ATTR {
    store_segment_state(h, task.chunks.width(), 1.0f, segment, task.chunks.dstate,
                        ssd::state_plane(states, offset, segment.head));
  });
}

// body(n, states, rows): B or C of some tokens, by slices of the states.
template <class Body>
void for_each_slice(const Task& task, const ConstTensorView& v, int64_t t, int64_t tokens,
                    Body&& body) {
  const Plane plane = ssd::head_plane(v, task.sequence, t, task.group);
  for (int64_t n = 0; n < task.chunks.dstate; n += ssd::kBlockChannels) {
    const int64_t states = std::min(ssd::kBlockChannels, task.chunks.dstate - n);
    body(n, states, segment_rows(plane, tokens, n, states, task.scratch.x_buffer));
  }
}

// B and C of the chunk, rounded, in the orders the products take them; then the products of each
// token's C with the B of those before.
void prepare_tokens(const Task& task, int64_t begin, int64_t tokens) {
  const hn::ScalableTag<float> d;
  const Arrays& a = task.arrays;
  const int64_t row_pairs = ChunkScratch::state_pairs(task.chunks.dstate);
  const int64_t padded = ChunkScratch::padded_states(task.chunks.dstate);
  for (int64_t t = 0; t < tokens; t += kTileTokens) {
    const int64_t count = std::min(kTileTokens, tokens - t);
    const auto round = [&](const ConstTensorView& v, float* to) HWY_ATTR {
      for_each_slice(task, v, begin + t, count, [&](int64_t n, int64_t states, Rows rows) HWY_ATTR {
        for (int64_t i = 0; i < count; ++i)
          bf16::pair_neighbours(rows.data + i * rows.stride, states,
                                std::min(row_pairs - n / 2, ssd::kBlockChannels / 2),
                                to + (t + i) * row_pairs + n / 2);
      });
    };
    round(task.args.C, a.C);
    round(task.args.B, a.B_rows);
    for_each_slice(task, task.args.B, begin + t, count,
                   [&](int64_t n, int64_t states, Rows rows) HWY_ATTR {
                     for (int64_t i = 0; i < count; i += 2) {
                       const float* row = rows.data + i * rows.stride;
                       bf16::pair_rows(row, i + 1 < count ? row + rows.stride : nullptr, states,
                                       1.0f, 1.0f, a.B_pairs + (t + i) / 2 * padded + n);
                     }
                   });
  }
  for (int64_t t = 0; t < tokens; t += kLanes)
    load_transposed(d, a.B_rows + t * row_pairs, row_pairs, row_pairs, a.B_tokens + t * row_pairs);
  for (int64_t pair = 0; 2 * pair < tokens; pair += kLanes)
    load_transposed(d, a.B_pairs + pair * padded, padded, padded, a.B_states + pair * padded);
  bf16::multiply_tokens(tokens, row_pairs, (task.chunks.dstate + 1) / 2, a.C, a.B_tokens,
                        task.scratch.products);
}

// delta * x of a segment in pairs, and the same decayed to the end. False: not all of it is finite.
bool pair_inputs(const Task& task, const HeadSegment& segment, int64_t begin, int64_t tokens) {
  ChunkScratch& s = task.scratch;
  bool finite = true;
  for (int64_t t = 0; t < tokens; t += kTileTokens) {
    const int64_t count = std::min(kTileTokens, tokens - t);
    const Plane x = ssd::head_plane(task.args.x, task.sequence, begin + t, segment.head);
    const Rows rows = segment_rows(x, count, segment.p, segment.channels, s.x_buffer);
    for (int64_t i = 0; i < count; i += 2) {
      const int64_t lower = t + i, upper = std::min(lower + 1, tokens - 1);
      const float* row = rows.data + i * rows.stride;
      const float* next = i + 1 < count ? row + rows.stride : nullptr;
      const auto pair = [&](float lower_weight, float upper_weight, float* to) HWY_ATTR {
        return bf16::pair_rows(row, next, segment.channels, lower_weight, upper_weight,
                               to + lower / 2 * kRow);
      };
      finite = pair(s.delta[lower], s.delta[upper], s.x) && finite;
      pair(s.delta[lower] * s.to_end[lower], s.delta[upper] * s.to_end[upper], s.x_to_end);
    }
  }
  for (int64_t pair = (tokens + 1) / 2; 2 * pair < ssd::round_up(tokens, bf16::kRows); ++pair)
    std::fill_n(s.x + pair * kRow, kRow, 0.0f);
  return finite;
}

// What the walk of a task knows at a chunk.
struct Chunk {
  int64_t begin, tokens;
  bool has_state;   // before it
  bool keep_state;  // somebody will read it
};

void scan_segment(const Task& task, const Chunk& chunk, const HeadSegment& segment, float* h,
                  float* h_rounded) {
  ChunkScratch& s = task.scratch;
  const ssd::Chunks& chunks = task.chunks;
  const int64_t tokens = chunk.tokens, vectors = (segment.channels + kLanes - 1) / kLanes;
  step_sizes(task.args, task.sequence, segment.head, chunk.begin, tokens, s.delta, s.log_decay);
  bf16::mix(tokens, bf16::make_decays(tokens, s), s);
  const bool finite = pair_inputs(task, segment, chunk.begin, tokens);
  bf16::make_outputs({.tokens = tokens,
                      .vectors = vectors,
                      .finite = finite,
                      .has_state = chunk.has_state,
                      .C = task.arrays.C,
                      .row_pairs = ChunkScratch::state_pairs(chunks.dstate),
                      .state_pairs = (chunks.dstate + 1) / 2,
                      .from_start = s.from_start,
                      .h = h_rounded,
                      .width = chunks.width(),
                      .mixing = s.mixing,
                      .x = s.x,
                      .y = s.y});
  if (chunk.keep_state)
    bf16::make_states({.states = chunks.dstate,
                       .tokens = tokens,
                       .vectors = vectors,
                       .has_state = chunk.has_state,
                       .decay = s.from_start[tokens - 1],
                       .B_states = task.arrays.B_states,
                       .padded_states = ChunkScratch::padded_states(chunks.dstate),
                       .x = s.x_to_end,
                       .h = h,
                       .h_rounded = h_rounded,
                       .width = chunks.width()});
  load_D(task.args.D, segment, s.D);
  for (int64_t t = 0; t < tokens; t += kTileTokens)
    skip_and_gate(task.args, task.sequence, segment, chunk.begin + t,
                  std::min(kTileTokens, tokens - t), s.y + t * kRow, s.ones, s.D,
                  {s.x_buffer, s.y_buffer, s.z_buffer});
}

void scan_task(const Task& task, int64_t s) {
  const Args& args = task.args;
  const Sequence& sequence = task.sequence;
  const TensorView &last = args.final_states, &saved = args.checkpoint_states;
  std::fill_n(task.scratch.ones, kTileTokens, 1.0f);
  load_state(task, s);
  bool has_state = args.initial_states.present();
  for (int64_t done = 0; done < sequence.length;) {
    Chunk chunk{done, ssd::next_tile(args, sequence, done, task.chunks.tokens()), has_state, true};
    done += chunk.tokens;
    // It ends the sequence, or else at a checkpoint, or is whole.
    chunk.keep_state = done < sequence.length || last.present() || saved.present();
    prepare_tokens(task, chunk.begin, chunk.tokens);
    task.for_each_segment([&](const HeadSegment& segment, float* h, float* h_rounded)
                              HWY_ATTR { scan_segment(task, chunk, segment, h, h_rounded); });
    has_state = true;
    for (int64_t k = 0; k < ssd::checkpoints(args); ++k)
      if (index_at(args.checkpoint_tokens, k) == sequence.begin + done - 1)
        store_state(task, saved, sequence.row * saved.stride[0] + k * saved.stride[1]);
  }
  if (last.present()) store_state(task, last, s * last.stride[0]);
}

ssd::Chunks chunks_of(int64_t nheads, int64_t headdim, int64_t ngroups, int64_t dstate) {
  return {headdim, dstate, nheads / ngroups, ngroups};
}

Status run(const Args& args, const Launch& launch) {
  const int64_t nseq = args.cu_seqlens.present() ? args.cu_seqlens.shape[0] - 1 : args.x.shape[0];
  const ssd::Chunks chunks =
      chunks_of(args.x.shape[2], args.x.shape[3], args.B.shape[2], args.B.shape[3]);
  const int64_t tasks = nseq * chunks.tasks(), runs = std::min(tasks, ssd::kMaxChunkRuns);
  const size_t scratch_bytes = ChunkScratch::bytes(chunks);
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  executor.run(runs, [&](int64_t run, int) HWY_ATTR {
    auto* scratch = new (launch.workspace.data() + run * scratch_bytes) ChunkScratch;
    for (int64_t i = tasks * run / runs; i < tasks * (run + 1) / runs; ++i) {
      const int64_t s = i / chunks.tasks(), in_group = i % chunks.tasks() % chunks.tasks_a_group();
      const int64_t first = in_group * chunks.per_task();
      scan_task({args, sequence_at(args.cu_seqlens, args.x.shape[1], s), chunks,
                 i % chunks.tasks() / chunks.tasks_a_group(), first,
                 std::min(first + chunks.per_task(), chunks.per_group()), *scratch,
                 scratch->arrays(chunks)},
                s);
    }
  });
  return {};
}

}  // namespace
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace hiss::cpu::avx512_bf16::ssd_chunk_scan {
namespace {

Decline why_not(const SsdChunkScan::Problem& p, const Machine& machine) {
  if (!machine.avx512 || !machine.avx512_bf16) return why::kIsa;
  if (p.precision != Precision::kFast) return why::kPrecision;
  if (p.dstate < 16) return why::kDstate;
  if (p.headdim < 1) return why::kFewChannels;
  return {};
}

size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine&) {
  const ssd::Chunks chunks{p.headdim, p.dstate, p.nheads / p.ngroups, p.ngroups};
  const int64_t runs = std::min(p.nseq * chunks.tasks(), ssd::kMaxChunkRuns);
  return static_cast<size_t>(runs) * ssd::ChunkScratch::bytes(chunks);
}

}  // namespace

extern constinit const Kernel<SsdChunkScan> chunked;
constinit const Kernel<SsdChunkScan> chunked{.name = "ssd_chunk_scan/cpu.avx512_bf16.chunked",
                                             .why_not = why_not,
                                             .workspace_bytes = workspace_bytes,
                                             .run = HWY_NAMESPACE::run};
}  // namespace hiss::cpu::avx512_bf16::ssd_chunk_scan
#endif  // HISS_ISA
