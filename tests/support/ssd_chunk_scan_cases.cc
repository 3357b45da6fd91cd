// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>

#include "support/case_list.h"

namespace hiss::testing_support {
namespace {

constexpr float kNone = std::numeric_limits<float>::infinity();

struct Spec {
  int64_t batch = 2, seqlen = 37, nheads = 4, headdim = 16, dstate = 32, ngroups = 2;
  DType dtype = DType::kF32, dt_dtype = DType::kF32, state_dtype = DType::kF32;
  Precision precision = Precision::kStandard;
  Place place = Place::kDense, bc_place = Place::kDense, state_place = Place::kDense;
  Place dt_place = Place::kDense;
  Fill dt = uniform(-5, 1), A = uniform(-8, -0.05);
  Fill x = normal(), B = normal(), before = normal();
  bool z = true, D = true, D_has_headdim = false, dt_bias = true, softplus = true;
  bool a_is_log = false, initial = true, final = true, final_is_initial = false;
  enum { kOwn, kIsX, kIsZ } y = kOwn;
  float dt_min = -kNone, dt_max = kNone;
  std::vector<int64_t> lengths, checkpoints;
  double special = 0;  // stored in x of one token, head and row unless 0

  SsdChunkScan::Args make(TensorSet& set) const {
    SsdChunkScan::Args a;
    const bool packed = !lengths.empty();
    const std::vector<int64_t> starts = cumulative(lengths);
    const int64_t rows = packed ? 1 : batch;
    const int64_t tokens = packed ? starts.back() : seqlen;
    const int64_t nseq = packed ? static_cast<int64_t>(lengths.size()) : rows;
    const std::vector<int64_t> sequence{rows, tokens, nheads, headdim};
    a.x = set.input(dtype, sequence, x, place);
    if (special != 0) set.set(a.x, {rows - 1, tokens / 2, nheads / 2, headdim / 2}, special);
    a.dt = set.input(dt_dtype, {rows, tokens, nheads}, dt, dt_place);
    a.A = set.input(DType::kF32, {nheads}, A);
    a.B = set.input(dtype, {rows, tokens, ngroups, dstate}, B, bc_place);
    a.C = set.input(dtype, {rows, tokens, ngroups, dstate}, normal(), bc_place);
    const auto d_sizes =
        D_has_headdim ? std::vector<int64_t>{nheads, headdim} : std::vector<int64_t>{nheads};
    if (D) a.D = set.input(DType::kF32, d_sizes, normal());
    if (z) a.z = set.input(dtype, sequence, normal(), place);
    if (dt_bias) a.dt_bias = set.input(DType::kF32, {nheads}, uniform(-1, 1));
    const std::vector<int64_t> state{nseq, nheads, headdim, dstate};
    if (initial) a.initial_states = set.input(state_dtype, state, before, state_place);
    if (final_is_initial)
      a.final_states = set.in_place(a.initial_states);
    else if (final)
      a.final_states = set.output(state_dtype, state, state_place);
    if (packed) a.cu_seqlens = set.indices(DType::kI32, starts);
    if (!checkpoints.empty()) {
      const auto count = static_cast<int64_t>(checkpoints.size());
      a.checkpoint_tokens = set.indices(DType::kI64, checkpoints);
      a.checkpoint_states =
          set.output(state_dtype, {rows, count, nheads, headdim, dstate}, state_place);
    }
    if (y == kOwn)
      a.y = set.output(dtype, sequence, place);
    else
      a.y = set.in_place(y == kIsX ? a.x : a.z);
    a.dt_softplus = softplus;
    a.A_is_log = a_is_log;
    a.dt_min = dt_min;
    a.dt_max = dt_max;
    a.precision = precision;
    return a;
  }
};

void add_layouts(CaseList<SsdChunkScan, Spec>& list) {
  for (const NamedPlace& p : kPlaces) {
    list.with(p.name, [&](Spec& c) { c.place = p.place; });
    list.with(std::string("bc_") + p.name, [&](Spec& c) { c.bc_place = p.place; });
    list.with(std::string("dt_") + p.name, [&](Spec& c) { c.dt_place = p.place; });
    list.with(std::string("states_") + p.name, [&](Spec& c) { c.state_place = p.place; });
  }
  list.with("constant_dt", [](Spec& c) { c.dt_place = Place::kBroadcast; });
  list.with("constant_bc", [](Spec& c) { c.bc_place = Place::kBroadcast; });
  list.with("y_is_x", [](Spec& c) { c.y = Spec::kIsX; });
  list.with("y_is_z", [](Spec& c) { c.y = Spec::kIsZ; });
  list.with("final_is_initial", [](Spec& c) { c.final_is_initial = true; });
}

void add_numbers(CaseList<SsdChunkScan, Spec>& list) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::string name = to_string(dtype);
    list.with(name, [&](Spec& c) { c.dtype = c.dt_dtype = dtype; });
    list.with(name + "_dt_f32", [&](Spec& c) { c.dtype = dtype; });
    list.with(name + "_wide_row", [&](Spec& c) { c.dtype = dtype, c.place = Place::kWideRow; });
    list.with(name + "_spaced", [&](Spec& c) { c.dtype = dtype, c.place = Place::kSpaced; });
    list.with(name + "_odd", [&](Spec& c) {
      c.dtype = c.dt_dtype = dtype, c.headdim = 7, c.dstate = 17, c.seqlen = 67;
    });
    list.with(name + "_packed", [&](Spec& c) { c.dtype = dtype, c.lengths = {5, 0, 1, 30}; });
    list.with(name + "_states", [&](Spec& c) { c.state_dtype = dtype; });
    list.with(name + "_states_strict",
              [&](Spec& c) { c.state_dtype = dtype, c.precision = Precision::kStrict; });
  }
  for (const int64_t dstate : {64, 128, 256, 512})
    list.with("BF16_states_strict_dstate_" + std::to_string(dstate), [&](Spec& c) {
      c.state_dtype = DType::kBF16, c.precision = Precision::kStrict;
      c.dstate = dstate, c.batch = 1, c.seqlen = 9, c.nheads = 2;
    });
  list.with("strict", [](Spec& c) { c.precision = Precision::kStrict; });
  list.with("dt_30", [](Spec& c) { c.dt = uniform(19, 30); });
  list.with("dt_100", [](Spec& c) { c.dt = constant(100); });
  list.with("dt_zero", [](Spec& c) { c.dt = constant(0), c.softplus = c.dt_bias = false; });
  list.with("no_softplus", [](Spec& c) { c.dt = uniform(0, 1), c.softplus = c.dt_bias = false; });
  list.with("strong_decay", [](Spec& c) { c.A = constant(-1e4), c.seqlen = 129; });
  list.with("weak_decay", [](Spec& c) { c.A = constant(-1e-4), c.seqlen = 129; });
  list.with("mixed_decay", [](Spec& c) { c.A = uniform(-200, 0), c.ngroups = 1, c.seqlen = 129; });
  list.with("decay_below_float", [](Spec& c) {
    c.dt = constant(1), c.A = constant(-60), c.seqlen = 65, c.softplus = c.dt_bias = false;
  });
  list.with("growth", [](Spec& c) {
    c.dt = constant(1), c.A = constant(0.4), c.seqlen = 129, c.softplus = c.dt_bias = false;
  });
  list.with("no_decay", [](Spec& c) { c.A = constant(0); });
  list.with("cumulative_decay_below_88", [](Spec& c) {
    c.dt = constant(1), c.A = constant(-1), c.seqlen = 129, c.softplus = c.dt_bias = false;
  });
  list.with("a_is_log", [](Spec& c) { c.a_is_log = true, c.A = uniform(-3, 3); });
  list.with("dt_limit", [](Spec& c) { c.dt_min = 0.01f, c.dt_max = 0.2f; });
  list.with("dt_min_only", [](Spec& c) { c.dt_min = 0.5f; });
  list.with("nan_in_a_token", [](Spec& c) { c.special = NAN; });
}

void add_packed(CaseList<SsdChunkScan, Spec>& list) {
  list.with("packed", [](Spec& c) { c.lengths = {5, 0, 1, 1, 30}; });
  list.with("packed_short_then_long", [](Spec& c) { c.lengths = {1, 1, 1, 200}; });
  list.with("packed_no_states", [](Spec& c) {
    c.lengths = {2, 70, 3}, c.initial = c.final = false;
  });
  list.with("packed_many_of_length_1",
            [](Spec& c) { c.lengths = std::vector<int64_t>(100, 1), c.headdim = 4; });
  list.with("checkpoints", [](Spec& c) { c.checkpoints = {0, 1, 17, 36}; });
  list.with("checkpoints_last_tokens", [](Spec& c) { c.checkpoints = {33, 34, 35, 36}; });
  list.with("checkpoints_tile_border",
            [](Spec& c) { c.seqlen = 100, c.checkpoints = {30, 31, 32, 63, 64, 99}; });
  list.with("checkpoints_strict", [](Spec& c) {
    c.checkpoints = {0, 31, 36}, c.precision = Precision::kStrict;
  });
  list.with("checkpoints_packed", [](Spec& c) {
    c.lengths = {5, 0, 1, 30}, c.checkpoints = {2, 4, 5, 35};
  });
}

// 16-bit types at sizes that matrix units take whole.
void add_matrices(CaseList<SsdChunkScan, Spec>& list, const std::string& prefix, DType state) {
  const auto with = [&](const std::string& name, auto&& change) {
    list.with(prefix + name, [&](Spec& c) {
      c.precision = Precision::kFast, c.dtype = DType::kBF16, c.headdim = c.dstate = 64;
      c.state_dtype = state;
      c.batch = 1, c.seqlen = 100, c.ngroups = 1;
      change(c);
    });
  };
  for (const int64_t headdim : {32, 48, 64, 80, 96, 128})
    with("headdim_" + std::to_string(headdim), [&](Spec& c) { c.headdim = headdim; });
  for (const int64_t dstate : {16, 96, 128, 256})
    with("dstate_" + std::to_string(dstate), [&](Spec& c) { c.dstate = dstate; });
  for (const int64_t seqlen : {1, 63, 64, 65, 257, 700})
    with("length_" + std::to_string(seqlen), [&](Spec& c) { c.seqlen = seqlen, c.nheads = 2; });
  for (const int64_t seqlen : {47, 48, 49})
    with("dstate_128_length_" + std::to_string(seqlen),
         [&](Spec& c) { c.dstate = 128, c.seqlen = seqlen, c.nheads = 2; });
  with("f16", [](Spec& c) { c.dtype = DType::kF16; });
  with("f16_dt_f16_dstate_256",
       [](Spec& c) { c.dtype = c.dt_dtype = DType::kF16, c.dstate = 256, c.seqlen = 300; });
  with("dt_bf16_groups_2", [](Spec& c) { c.dt_dtype = DType::kBF16, c.ngroups = 2, c.batch = 2; });
  with("no_options", [](Spec& c) {
    c.z = c.D = c.dt_bias = c.softplus = c.initial = c.final = false, c.dt = uniform(0, 1);
  });
  with("d_has_headdim", [](Spec& c) { c.D_has_headdim = true; });
  with("a_is_log_dt_limit",
       [](Spec& c) { c.a_is_log = true, c.A = uniform(-3, 3), c.dt_min = 0.01f, c.dt_max = 0.2f; });
  with("y_is_x", [](Spec& c) { c.y = Spec::kIsX; });
  with("y_is_z_final_is_initial",
       [](Spec& c) { c.y = Spec::kIsZ, c.final_is_initial = true, c.seqlen = 500; });
  with("strong_decay", [](Spec& c) { c.A = constant(-1e4); });
  with("weak_decay", [](Spec& c) { c.A = constant(-1e-4), c.seqlen = 300; });
  with("mixed_decay", [](Spec& c) { c.A = uniform(-200, 0); });
  with("growth",
       [](Spec& c) { c.dt = constant(1), c.A = constant(0.4), c.softplus = c.dt_bias = false; });
  with("packed", [](Spec& c) { c.lengths = {64, 0, 1, 65, 3}; });
  with("packed_long", [](Spec& c) { c.lengths = {300, 70}, c.nheads = 2; });
  with("checkpoints", [](Spec& c) { c.checkpoints = {0, 62, 63, 99}; });
  with("checkpoints_long", [](Spec& c) { c.seqlen = 600, c.checkpoints = {100, 383, 384, 500}; });
  with("nan", [](Spec& c) { c.special = NAN; });
  with("nan_headdim_80", [](Spec& c) { c.special = NAN, c.headdim = 80, c.seqlen = 300; });
  // Long enough that a processor's share of the chunks begins within a sequence.
  const auto with_long = [&](const std::string& name, auto&& change) {
    with("long_" + name, [&](Spec& c) {
      c.seqlen = 1000, c.dstate = 128, c.batch = 2;
      change(c);
    });
  };
  with_long("base", [](Spec&) {});
  with_long("f16", [](Spec& c) { c.dtype = DType::kF16; });
  with_long("headdim_80", [](Spec& c) { c.headdim = 80, c.nheads = 8, c.ngroups = 2; });
  with_long("dstate_256", [](Spec& c) { c.dstate = 256; });
  with_long("f16_dstate_256", [](Spec& c) { c.dtype = DType::kF16, c.dstate = 256; });
  with_long("checkpoints", [](Spec& c) { c.checkpoints = {100, 511, 512, 513, 999}; });
  with_long("y_is_x", [](Spec& c) { c.y = Spec::kIsX; });
  with_long("final_is_initial", [](Spec& c) { c.final_is_initial = true; });
  with_long("nan", [](Spec& c) { c.special = NAN; });
  // So long that two passes over a sequence's parts are worth it.
  const auto with_longer = [&](const std::string& name, auto&& change) {
    with("longer_" + name, [&](Spec& c) {
      c.seqlen = 4000, c.dstate = 128, c.nheads = 2;
      change(c);
    });
  };
  with_longer("in_place", [](Spec& c) { c.y = Spec::kIsX, c.final_is_initial = true; });
  with_longer("headdim_80_checkpoints", [](Spec& c) {
    c.headdim = 80, c.checkpoints = {100, 511, 512, 2000, 3999};
  });
  with_longer("f16_dstate_256", [](Spec& c) { c.dtype = DType::kF16, c.dstate = 256; });
}

// States of 1 to which tokens without decay add five eighths of what lies between 16-bit numbers:
// float32 holds all of it, and what is nearest is the next number.
void add_exact_states(CaseList<SsdChunkScan, Spec>& list) {
  for (const auto& [state, gap] : {std::pair{DType::kBF16, 0x1p-7}, {DType::kF16, 0x1p-10}})
    for (const int64_t dstate : {64, 128, 256})
      list.with(std::string("exact_") + to_string(state) + "_states_" + std::to_string(dstate),
                [state = state, gap = gap, dstate](Spec& c) {
                  c.dtype = DType::kBF16, c.state_dtype = state;
                  c.batch = 1, c.nheads = 2, c.headdim = 64, c.dstate = dstate, c.seqlen = 64;
                  c.x = c.dt = c.before = constant(1), c.B = constant(gap * 5 / 512);
                  c.A = constant(0), c.z = c.D = c.dt_bias = c.softplus = false;
                  c.checkpoints = {63};
                });
}

// What is rounded on its way through long sequences, and states of 256.
void add_rounded_states(CaseList<SsdChunkScan, Spec>& list) {
  const auto with = [&](const std::string& name, auto&& change) {
    list.with("bf16_state_" + name, [&](Spec& c) {
      c.precision = Precision::kFast, c.dtype = c.state_dtype = DType::kBF16;
      c.headdim = 64, c.dstate = 256, c.batch = 1, c.nheads = 2, c.ngroups = 1;
      change(c);
    });
  };
  for (const auto& [name, rate] : {std::pair{"no", 0.0}, {"weak", -1e-3}, {"strong", -1e4}})
    with(std::string("long_") + name + "_decay", [rate = rate](Spec& c) {
      c.A = constant(rate), c.seqlen = 3000, c.dstate = 64, c.nheads = 1;
    });
  with("packed_dstate_256", [](Spec& c) { c.lengths = {130, 0, 1, 300, 3}; });
  with("checkpoints_dstate_256", [](Spec& c) { c.seqlen = 400, c.checkpoints = {0, 63, 64, 250}; });
  with("final_is_initial_dstate_256", [](Spec& c) { c.final_is_initial = true, c.seqlen = 500; });
  // In place no block can walk what another has written: states are handed on.
  with("final_is_initial_long_dstate_256",
       [](Spec& c) { c.final_is_initial = true, c.nheads = 1, c.seqlen = 1600; });
  with("headdim_128_dstate_256", [](Spec& c) { c.headdim = 128, c.seqlen = 200; });
  with("spaced_states", [](Spec& c) { c.state_place = Place::kWideRow, c.seqlen = 200; });
  with("nan_dstate_256", [](Spec& c) { c.special = NAN, c.seqlen = 200; });
}

// F32 at sizes that matrix units take whole.
void add_float_matrices(CaseList<SsdChunkScan, Spec>& list) {
  const auto with = [&](const std::string& name, auto&& change) {
    list.with("float_matrices_" + name, [&](Spec& c) {
      c.headdim = c.dstate = 64, c.batch = 1, c.seqlen = 100, c.ngroups = 1;
      change(c);
    });
  };
  for (const int64_t headdim : {64, 80, 96, 128})
    with("headdim_" + std::to_string(headdim), [&](Spec& c) { c.headdim = headdim; });
  for (const int64_t dstate : {1, 13, 100, 128, 200, 256})
    with("dstate_" + std::to_string(dstate), [&](Spec& c) { c.dstate = dstate, c.nheads = 3; });
  for (const int64_t seqlen : {63, 64, 65, 257, 700})
    with("length_" + std::to_string(seqlen), [&](Spec& c) { c.seqlen = seqlen, c.nheads = 2; });
  with("groups_2_batch_3", [](Spec& c) { c.ngroups = 2, c.batch = 3, c.dstate = 128; });
  with("headdim_80_groups_2", [](Spec& c) {
    c.headdim = 80, c.dstate = 128, c.ngroups = 2, c.nheads = 8, c.seqlen = 200;
  });
  with("no_options", [](Spec& c) {
    c.z = c.D = c.dt_bias = c.softplus = c.initial = c.final = false, c.dt = uniform(0, 1);
  });
  with("d_has_headdim_no_z", [](Spec& c) { c.D_has_headdim = true, c.z = false; });
  with("y_is_x", [](Spec& c) { c.y = Spec::kIsX, c.seqlen = 500; });
  with("y_is_z_final_is_initial",
       [](Spec& c) { c.y = Spec::kIsZ, c.final_is_initial = true, c.seqlen = 500; });
  with("strong_decay", [](Spec& c) { c.A = constant(-1e4); });
  with("weak_decay", [](Spec& c) { c.A = constant(-1e-4), c.seqlen = 300; });
  with("mixed_decay", [](Spec& c) { c.A = uniform(-200, 0), c.dstate = 128; });
  with("growth",
       [](Spec& c) { c.dt = constant(1), c.A = constant(0.4), c.softplus = c.dt_bias = false; });
  with("packed", [](Spec& c) { c.lengths = {64, 0, 1, 165, 3}; });
  with("packed_long", [](Spec& c) { c.lengths = {300, 70}, c.nheads = 2; });
  with("nan", [](Spec& c) { c.special = NAN; });
  with("nan_headdim_80", [](Spec& c) { c.special = NAN, c.headdim = 80, c.seqlen = 300; });
}

// Everything again, with heads that fill vectors; and long chunks, which large states get.
void add_fast(CaseList<SsdChunkScan, Spec>& list) {
  list.again("fast", [](Spec& c) {
    c.precision = Precision::kFast;
    if (c.headdim < 32) c.headdim += 48;
  });
  const auto with = [&](const std::string& name, int64_t dstate, auto&& change) {
    list.with("fast_" + name + "_dstate_" + std::to_string(dstate), [&](Spec& c) {
      c.precision = Precision::kFast;
      c.batch = 1, c.seqlen = 150, c.nheads = 3, c.ngroups = 1, c.headdim = 20, c.dstate = dstate;
      change(c);
    });
  };
  for (const int64_t dstate : {100, 256}) {
    with("chunks", dstate, [](Spec&) {});
    with("segments", dstate, [](Spec& c) { c.headdim = 300; });
    with("ragged", dstate, [](Spec& c) { c.seqlen = 131; });
    with("f16", dstate, [](Spec& c) { c.dtype = DType::kF16; });
    with("no_states", dstate, [](Spec& c) { c.initial = c.final = false; });
    with("strong_decay", dstate, [](Spec& c) { c.A = constant(-1e4); });
    with("mixed_decay", dstate, [](Spec& c) { c.A = uniform(-200, 0); });
    with("weak_decay", dstate, [](Spec& c) { c.A = constant(-1e-4); });
    with("growth", dstate, [](Spec& c) {
      c.dt = uniform(-1, 1), c.A = constant(0.4), c.softplus = c.dt_bias = false;
    });
    with("nan", dstate, [](Spec& c) { c.special = NAN; });
    with("packed", dstate, [](Spec& c) { c.lengths = {70, 0, 1, 33, 65}; });
    with("checkpoints", dstate, [](Spec& c) { c.checkpoints = {30, 63, 64, 127, 128, 149}; });
  }
}

}  // namespace

template <>
std::vector<Case<SsdChunkScan>> cases<SsdChunkScan>() {
  CaseList<SsdChunkScan, Spec> list;
  list.each("length", {0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200, 255, 257},
            [](Spec& c, int64_t n) { c.seqlen = n, c.batch = 1; });
  list.each("tile_border", {31, 32, 33}, [](Spec& c, int64_t n) { c.seqlen = n; });
  list.with("length_1026", [](Spec& c) { c.seqlen = 1026, c.batch = 1, c.headdim = 4; });
  const auto few = [](Spec& c) { c.batch = 1, c.seqlen = 9, c.nheads = 2; };
  list.each("headdim", {0, 1, 3, 32, 64, 80, 96, 128, 512},
            [&](Spec& c, int64_t n) { few(c), c.headdim = n; });
  list.each("heads_of_headdim", {1, 5, 33, 65, 129},
            [&](Spec& c, int64_t n) { few(c), c.nheads = 7, c.ngroups = 1, c.headdim = n; });
  list.each("dstate", {0, 1, 3, 7, 13, 16, 64, 97, 128, 256, 512},
            [&](Spec& c, int64_t n) { few(c), c.dstate = n; });
  list.with("heads_128_groups_8", [&](Spec& c) { few(c), c.nheads = 128, c.ngroups = 8; });
  list.with("heads_24_groups_1", [&](Spec& c) { few(c), c.nheads = 24, c.ngroups = 1; });
  list.with("heads_3_groups_1", [&](Spec& c) { few(c), c.nheads = 3, c.ngroups = 1; });
  list.with("heads_7_groups_7", [&](Spec& c) { few(c), c.nheads = 7, c.ngroups = 7; });
  list.with("heads_80_groups_1", [&](Spec& c) { few(c), c.nheads = 80, c.ngroups = 1; });
  list.each("batch", {0, 1, 5}, [](Spec& c, int64_t n) { c.batch = n; });
  list.with("d_has_headdim", [](Spec& c) { c.D_has_headdim = true; });
  list.with("no_z", [](Spec& c) { c.z = false; });
  list.with("no_d", [](Spec& c) { c.D = false; });
  list.with("no_dt_bias", [](Spec& c) { c.dt_bias = false; });
  list.with("no_initial_states", [](Spec& c) { c.initial = false; });
  list.with("no_final_states", [](Spec& c) { c.final = false; });
  list.with("no_options", [](Spec& c) {
    c.z = c.D = c.dt_bias = c.softplus = c.initial = c.final = false, c.dt = uniform(0, 1);
  });
  add_layouts(list);
  add_numbers(list);
  add_packed(list);
  add_exact_states(list);
  add_float_matrices(list);
  add_fast(list);
  add_matrices(list, "matrices_", DType::kF32);
  add_matrices(list, "bf16_state_", DType::kBF16);
  add_rounded_states(list);
  return list.take();
}

}  // namespace hiss::testing_support
