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

  HeadSegment segment(int64_t i) const { return ssd::chunk_segment(chunks, group, i); }
  // The states of segment i.
  int64_t floats() const { return ChunkScratch::padded_states(chunks.dstate) * chunks.width; }
  float* h(int64_t i) const { return arrays.h + (i - first) * floats(); }
  float* h_rounded(int64_t i) const { return arrays.h_rounded + (i - first) * floats() / 2; }
};

void load_state(const Task& task, int64_t s) {
  const ConstTensorView& states = task.args.initial_states;
  const int64_t dstate = task.chunks.dstate, width = task.chunks.width;
  for (int64_t i = task.first; i < task.last; ++i) {
    float* h = task.h(i);
    // Without a state the first chunk makes one; an empty sequence has none.
    if (!states.present()) {
      if (task.sequence.length == 0) std::fill_n(h, task.floats(), 0.0f);
      continue;
    }
    std::fill(h + dstate * width, h + task.floats(), 0.0f);
    const HeadSegment segment = task.segment(i);
    load_segment_state(ssd::state_plane(states, s * states.stride[0], segment.head), segment,
                       dstate, h, width);
    for (int64_t n = 0; n < dstate; n += 2)
      bf16::pair_rows(h + n * width, h + (n + 1) * width, width, task.h_rounded(i) + n / 2 * width);
  }
}

void store_state(const Task& task, const TensorView& states, int64_t offset) {
  for (int64_t i = task.first; i < task.last; ++i)
    store_segment_state(task.h(i), task.chunks.width, 1.0f, task.segment(i), task.chunks.dstate,
                        ssd::state_plane(states, offset, task.segment(i).head));
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
    const auto pair = [&](int64_t n, int64_t states, Rows rows) HWY_ATTR {
      static constexpr float kZeros[ssd::kBlockChannels] = {};
      for (int64_t i = 0; i < count; i += 2) {
        const float* row = rows.data + i * rows.stride;
        bf16::pair_rows(row, i + 1 < count ? row + rows.stride : kZeros, states,
                        a.B_pairs + (t + i) / 2 * padded + n);
      }
    };
    for_each_slice(task, task.args.B, begin + t, count, pair);
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
      const bf16::TwoTokens two{row,
                                i + 1 < count ? row + rows.stride : nullptr,
                                s.delta[lower],
                                s.delta[upper],
                                s.to_end[lower],
                                s.to_end[upper]};
      finite = bf16::pair_tokens(two, segment.channels, s.x + lower / 2 * kRow,
                                 s.x_to_end + lower / 2 * kRow) &&
               finite;
    }
  }
  for (int64_t pair = (tokens + 1) / 2; 2 * pair < ssd::round_up(tokens, bf16::kRows); ++pair)
    std::fill_n(s.x + pair * kRow, kRow, 0.0f);
  return finite;
}

// A segment of a chunk.
struct Work {
  HeadSegment segment;
  int64_t begin, tokens;
};

// What the walk of a task knows at a chunk.
struct Chunk {
  int64_t begin, tokens;
  bool has_state;   // before it
  bool keep_state;  // somebody will read it
};

// Where a segment's rows of x, z or y begin, unless they are not dense.
ssd::Ahead ahead(const Task& task, const ConstTensorView& v, const Work& next) {
  const Plane plane = ssd::head_plane(v, task.sequence, next.begin, next.segment.head);
  return ssd::ahead_of(plane, next.segment.p, next.segment.channels, next.tokens);
}

void scan_segment(const Task& task, const Chunk& chunk, const HeadSegment& segment, float* h,
                  float* h_rounded, const Work& next) {
  ChunkScratch& s = task.scratch;
  const ssd::Chunks& chunks = task.chunks;
  const int64_t tokens = chunk.tokens, vectors = (segment.channels + kLanes - 1) / kLanes;
  step_sizes(task.args, task.sequence, segment.head, chunk.begin, tokens, s.delta, s.log_decay);
  bf16::make_decays(tokens, s);
  bf16::mix(tokens, s);
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
                      .width = chunks.width,
                      .mixing = s.mixing,
                      .x = s.x,
                      .y = s.y,
                      .next_x = ahead(task, task.args.x, next),
                      .next_z = ahead(task, task.args.z, next),
                      .next_y = ahead(task, task.args.y, next)});
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
                       .width = chunks.width});
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
    Chunk chunk{done, ssd::next_tile(args, sequence, done, task.chunks.tokens), has_state, true};
    done += chunk.tokens;
    // It ends the sequence, or else at a checkpoint, or is whole.
    chunk.keep_state = done < sequence.length || last.present() || saved.present();
    prepare_tokens(task, chunk.begin, chunk.tokens);
    for (int64_t i = task.first; i < task.last; ++i) {
      // The next segment of this chunk, or the first of the next chunk.
      Work next{task.segment(i + 1), chunk.begin, chunk.tokens};
      if (i + 1 == task.last)
        next = {task.segment(task.first), done,
                std::min(sequence.length - done, task.chunks.tokens)};
      scan_segment(task, chunk, task.segment(i), task.h(i), task.h_rounded(i), next);
    }
    has_state = true;
    for (int64_t k = 0; k < ssd::checkpoints(args); ++k)
      if (index_at(args.checkpoint_tokens, k) == sequence.begin + done - 1)
        store_state(task, saved, sequence.row * saved.stride[0] + k * saved.stride[1]);
  }
  if (last.present()) store_state(task, last, s * last.stride[0]);
}

Status run(const Args& args, const Launch& launch) {
  const int64_t nseq = args.cu_seqlens.present() ? args.cu_seqlens.shape[0] - 1 : args.x.shape[0];
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  const ssd::Chunks chunks = ssd::chunks_of(args.x.shape[2], args.x.shape[3], args.B.shape[2],
                                            args.B.shape[3], nseq, executor.workers());
  const size_t scratch_bytes = ChunkScratch::bytes(chunks);
  const int64_t tasks = chunks.tasks(), runs = chunks.runs();
  executor.run(runs, [&](int64_t run, int) HWY_ATTR {
    auto* scratch = new (launch.workspace.data() + run * scratch_bytes) ChunkScratch;
    for (int64_t i = tasks * run / runs; i < tasks * (run + 1) / runs; ++i) {
      const int64_t first = i % chunks.tasks_a_group * chunks.per_task;
      const int64_t group = i / chunks.tasks_a_group % chunks.ngroups;
      const int64_t s = i / chunks.tasks_a_group / chunks.ngroups;
      scan_task(
          {args, sequence_at(args.cu_seqlens, args.x.shape[1], s), chunks, group, first,
           std::min(first + chunks.per_task, chunks.per_group), *scratch, scratch->arrays(chunks)},
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
  // A head is done by itself, however small.
  if (p.headdim < 16 || p.headdim * p.dstate < 1024) return why::kFewChannels;
  if (p.batch * p.seqlen < 8 * p.nseq) return why::kShort;
  return {};
}

size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine&) {
  size_t most = 0;
  for (int workers = 1; workers <= ssd::kMaxChunkRuns; ++workers) {
    const ssd::Chunks chunks =
        ssd::chunks_of(p.nheads, p.headdim, p.ngroups, p.dstate, p.nseq, workers);
    most = std::max(most, static_cast<size_t>(chunks.runs()) * ssd::ChunkScratch::bytes(chunks));
  }
  return most;
}

}  // namespace

extern constinit const Kernel<SsdChunkScan> chunked;
constinit const Kernel<SsdChunkScan> chunked{.name = "ssd_chunk_scan/cpu.avx512_bf16.chunked",
                                             .why_not = why_not,
                                             .workspace_bytes = workspace_bytes,
                                             .run = HWY_NAMESPACE::run};
}  // namespace hiss::cpu::avx512_bf16::ssd_chunk_scan
#endif  // HISS_ISA
