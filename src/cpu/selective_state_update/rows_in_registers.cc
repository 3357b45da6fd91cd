// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Decode step of Mamba-1 and Mamba-2, one pass over the state, lanes over dstate.
//
// Parallel over (batch row, head, 128 rows). Four rows by some vectors of dstate are loaded, taken
// through up to 16 tokens in registers, and stored. Bound by the memory the state is in, and for
// Mamba-1 in cache by the exponentials: docs/kernels/selective_state_update_cpu.md.
//
// Serves strict: sums over dstate have an order that depends on dstate only, and what one row does
// with one token depends on that token and its own state.

#include <algorithm>

#include "core/sequences.h"
#include "cpu/selective_state_update/row_blocks.h"
#include "cpu/simd/plane.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/selective_state_update/rows_in_registers.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/selective_state_update/state_rows-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

using Args = SelectiveStateUpdate::Args;
using state_update::kBlockRows;
using state_update::kChunkTokens;
using state_update::kTileRows;
using state_update::Scratch;

// Rows [p, p + rows) of head h in batch row b, and their slot.
struct Block {
  int64_t b, h, p, rows, slot;
};

// `rows` rows of a (batch, ntokens, nheads, headdim) tensor, as floats.
void load_tokens(const ConstTensorView& v, const Block& block, int64_t rows, int64_t t,
                 int64_t tokens, float (*to)[kBlockRows]) {
  for (int64_t i = 0; v.present() && i < tokens; ++i) {
    const void* from = advance(v.data, v.dtype,
                               block.b * v.stride[0] + (t + i) * v.stride[1] +
                                   block.h * v.stride[2] + block.p * v.stride[3]);
    if (v.stride[3] == 1)
      with_element_type(v.dtype, from,
                        [&](const auto* p) HWY_ATTR { copy_elements(p, rows, to[i]); });
    else
      for (int64_t r = 0; r < rows; ++r) to[i][r] = float_at(Plane{from, v.dtype}, r * v.stride[3]);
  }
}

// `rows` rows of a (nheads, headdim) tensor; zeros without it.
void load_rows(const ConstTensorView& v, const Block& block, int64_t rows, float* to) {
  const float zero = 0.0f;
  const float* from = &zero;
  if (v.present()) from = v.as<float>() + block.h * v.stride[0] + block.p * v.stride[1];
  if (!v.present() || v.stride[1] == 0)
    std::fill_n(to, kBlockRows, *from);
  else
    for (int64_t r = 0; r < rows; ++r) to[r] = from[r * v.stride[1]];
}

// Rows of B or C of the block's group: in place, or copied to `to` and padded with zeros.
const float* load_dstate_rows(const ConstTensorView& v, const Block& block, int64_t group,
                              int64_t t, int64_t tokens, float* to, int64_t& token_stride) {
  const int64_t dstate = v.shape[3], length = state_update::padded(dstate);
  const void* from =
      advance(v.data, v.dtype, block.b * v.stride[0] + t * v.stride[1] + group * v.stride[2]);
  token_stride = v.stride[1];
  if (v.dtype == DType::kF32 && dstate == length) return static_cast<const float*>(from);
  token_stride = length;
  for (int64_t i = 0; i < tokens; ++i) {
    with_element_type(v.dtype, advance(from, v.dtype, i * v.stride[1]),
                      [&](const auto* p) HWY_ATTR { copy_elements(p, dstate, to + i * length); });
    std::fill(to + i * length + dstate, to + (i + 1) * length, 0.0f);
  }
  return to;
}

void load_B_and_C(const Args& args, const Block& block, int64_t t, int64_t tokens, StateRows& rows,
                  Scratch& scratch) {
  const int64_t group = block.h / (args.x.shape[2] / args.B.shape[2]);
  float* to = scratch.B_and_C();
  rows.B = load_dstate_rows(args.B, block, group, t, tokens, to, rows.B_token_stride);
  to += kChunkTokens * state_update::padded(args.B.shape[3]);
  rows.C = load_dstate_rows(args.C, block, group, t, tokens, to, rows.C_token_stride);
}

// A of `count` rows from row p of the block on: in place, or as it is needed in scratch.
void load_A(const Args& args, const Block& block, int64_t p, int64_t count, StateRows& rows,
            Scratch& scratch) {
  const StateTag d;
  const ConstTensorView& A = args.A;
  const int64_t dstate = A.shape[2], length = state_update::padded(dstate);
  const float* from = A.as<float>() + block.h * A.stride[0] + (block.p + p) * A.stride[1];
  rows.A = from;
  rows.A_row_stride = A.stride[1];
  if (A.stride[2] == 1 && dstate == length && !args.A_is_log) return;
  rows.A = scratch.A(dstate);
  rows.A_row_stride = length;
  for (int64_t r = 0; r < count; ++r, from += A.stride[1]) {
    float* to = scratch.A(dstate) + r * length;
    if (A.stride[2] == 1)
      copy_elements(from, dstate, to);
    else
      for (int64_t n = 0; n < dstate; ++n) to[n] = from[n * A.stride[2]];
    std::fill(to + dstate, to + length, 0.0f);
    for (int64_t n = 0; args.A_is_log && n < length; n += kStateLanes)
      hn::Store(hn::Neg(exp(d, hn::Load(d, to + n))), d, to + n);
  }
}

// delta and delta * x of a chunk, and the decay where it is the head's.
void step_sizes(const Args& args, const Block& block, int64_t tokens, bool tied, Scratch& scratch) {
  const StateTag d;
  const int64_t count = tied ? 1 : block.rows;
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t p = 0; p < count; p += kStateLanes) {
      StateVec delta = hn::Add(hn::Load(d, scratch.delta[t] + p), hn::Load(d, scratch.dt_bias + p));
      if (args.dt_softplus) delta = softplus(d, delta);
      // As second operand NaN passes.
      delta = at_most(hn::Set(d, args.dt_max), at_least(hn::Set(d, args.dt_min), delta));
      hn::Store(delta, d, scratch.delta[t] + p);
    }
    if (tied) {
      StateVec A = hn::Set(d, args.A.as<float>()[block.h * args.A.stride[0]]);
      if (args.A_is_log) A = hn::Neg(exp(d, A));
      const StateVec delta = hn::Set(d, scratch.delta[t][0]);
      scratch.decay[t] = hn::GetLane(decay_of(delta, A));
      std::fill_n(scratch.delta[t], kBlockRows, scratch.delta[t][0]);
    }
    for (int64_t p = 0; p < block.rows; p += kStateLanes)
      hn::Store(hn::Mul(hn::Load(d, scratch.delta[t] + p), hn::Load(d, scratch.x[t] + p)), d,
                scratch.delta_x[t] + p);
  }
}

// y = (y + D * x) * SiLU(z), and to memory.
void store_y(const Args& args, const Block& block, int64_t t, int64_t tokens, Scratch& scratch) {
  const StateTag d;
  for (int64_t i = 0; i < tokens; ++i) {
    for (int64_t p = 0; p < block.rows; p += kStateLanes) {
      StateVec y = hn::Load(d, scratch.y[i] + p);
      if (args.D.present())
        y = hn::MulAdd(hn::Load(d, scratch.D + p), hn::Load(d, scratch.x[i] + p), y);
      if (args.z.present()) y = hn::Mul(y, silu(d, hn::Load(d, scratch.z[i] + p)));
      hn::Store(y, d, scratch.y[i] + p);
    }
    const TensorView& v = args.y;
    const int64_t first = block.b * v.stride[0] + (t + i) * v.stride[1] + block.h * v.stride[2] +
                          block.p * v.stride[3];
    with_element_type(v.dtype, advance(v.data, v.dtype, first),
                      [&](auto* p) HWY_ATTR { copy_elements(scratch.y[i], block.rows, p); });
  }
}

// All rows of the block through a chunk of tokens.
template <bool kTied, Walk kWalk>
void update_block(const Args& args, const Block& block, StateRows rows, int64_t tokens,
                  Scratch& scratch) {
  const int64_t dstate = args.B.shape[3];
  const auto update = [&]<int64_t kRows>(int64_t p) HWY_ATTR {
    if constexpr (!kTied) load_A(args, block, p, kRows, rows, scratch);
    update_rows<kRows, kTied, kWalk>(rows, p, tokens, dstate, scratch);
  };
  int64_t p = 0;
  for (; p + kTileRows <= block.rows; p += kTileRows) update.template operator()<kTileRows>(p);
  for (; p < block.rows; ++p) update.template operator()<1>(p);
}

void run_block(const Args& args, const Block& block, bool tied, Scratch& scratch) {
  const int64_t ntokens = args.x.shape[1];
  load_rows(args.D, block, block.rows, scratch.D);
  load_rows(args.dt_bias, block, tied ? 1 : block.rows, scratch.dt_bias);
  const ConstTensorView& initial = args.initial_states;
  // Without tokens an initial state is still copied.
  for (int64_t t = 0; t < ntokens || (t == 0 && initial.present()); t += kChunkTokens) {
    const int64_t tokens = std::min(kChunkTokens, ntokens - t);
    const auto rows_of = [&](const auto& v, int64_t offset) {
      return v.template as<float>() + offset + block.h * v.stride[v.rank - 3] +
             block.p * v.stride[v.rank - 2];
    };
    const TensorView& state = args.state;
    const TensorView& saved = args.snapshots;
    StateRows rows{rows_of(state, block.slot * state.stride[0]), state.stride[2]};
    rows.from = rows.state, rows.from_row_stride = rows.row_stride;
    if (t == 0 && initial.present()) {
      rows.from = rows_of(initial, block.b * initial.stride[0]);
      rows.from_row_stride = initial.stride[2];
    }
    if (saved.present()) {
      rows.snapshots = rows_of(saved, block.b * saved.stride[0] + t * saved.stride[1]);
      rows.snapshot_token_stride = saved.stride[1];
      rows.snapshot_row_stride = saved.stride[3];
    }
    load_tokens(args.x, block, block.rows, t, tokens, scratch.x);
    load_tokens(args.z, block, block.rows, t, tokens, scratch.z);
    load_tokens(args.dt, block, tied ? 1 : block.rows, t, tokens, scratch.delta);
    load_B_and_C(args, block, t, tokens, rows, scratch);
    step_sizes(args, block, tokens, tied, scratch);
    const auto update = [&]<bool kTied>() HWY_ATTR {
      if (tokens != 1 || rows.snapshots != nullptr)
        update_block<kTied, Walk::kSeveralTokens>(args, block, rows, tokens, scratch);
      else if (rows.from == rows.state && rows.from_row_stride == rows.row_stride)
        update_block<kTied, Walk::kOneToken>(args, block, rows, tokens, scratch);
      else
        update_block<kTied, Walk::kOneTokenFromElsewhere>(args, block, rows, tokens, scratch);
    };
    if (tied)
      update.template operator()<true>();
    else
      update.template operator()<false>();
    store_y(args, block, t, tokens, scratch);
  }
}

// Padding: y is zero.
void clear_block(const Args& args, const Block& block, Scratch& scratch) {
  const TensorView& v = args.y;
  std::fill_n(scratch.y[0], kBlockRows, 0.0f);
  for (int64_t t = 0; t < v.shape[1]; ++t)
    with_element_type(v.dtype,
                      advance(v.data, v.dtype,
                              block.b * v.stride[0] + t * v.stride[1] + block.h * v.stride[2] +
                                  block.p * v.stride[3]),
                      [&](auto* p) HWY_ATTR { copy_elements(scratch.y[0], block.rows, p); });
}

Status run(const Args& args, const Launch& launch) {
  const SelectiveStateUpdate::Problem problem = SelectiveStateUpdate::describe(args);
  const int64_t per_head = state_update::blocks_per_head(problem.headdim);
  const int64_t blocks = problem.batch * problem.nheads * per_head;
  const size_t scratch_bytes = Scratch::bytes(problem.dstate);
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  // A worker keeps to its part of the state, which may still be in its cache.
  const int64_t runs = std::min<int64_t>(state_update::runs_of(problem), executor.workers());
  executor.run(runs, [&](int64_t run, int) HWY_ATTR {
    auto* scratch = new (launch.workspace.data() + run * scratch_bytes) Scratch;
    for (int64_t i = blocks * run / runs; i < blocks * (run + 1) / runs; ++i) {
      const int64_t p = i % per_head * kBlockRows, b = i / per_head / problem.nheads;
      const int64_t slot = args.state_indices.present() ? index_at(args.state_indices, b) : b;
      const Block block{b, i / per_head % problem.nheads, p,
                        std::min(kBlockRows, problem.headdim - p), slot};
      if (slot < 0)
        clear_block(args, block, *scratch);
      else
        run_block(args, block, problem.tied, *scratch);
    }
  });
  return {};
}

}  // namespace
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace hiss::cpu::HISS_ISA::selective_state_update {
extern constinit const Kernel<SelectiveStateUpdate> rows_in_registers;
constinit const Kernel<SelectiveStateUpdate> rows_in_registers{
    .name = "selective_state_update/cpu." HISS_ISA_NAME ".rows_in_registers",
    .why_not = state_update::why_not<&Machine::HISS_ISA>,
    .workspace_bytes = state_update::workspace_bytes,
    .run = HWY_NAMESPACE::run};
}  // namespace hiss::cpu::HISS_ISA::selective_state_update
#endif  // HISS_ISA
