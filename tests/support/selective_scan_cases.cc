// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>

#include "support/case_list.h"

namespace hiss::testing_support {
namespace {

constexpr float kNone = std::numeric_limits<float>::infinity();

struct Spec {
  int64_t batch = 2, seqlen = 37, dim = 40, dstate = 16, ngroups = 1;
  DType dtype = DType::kF32;
  Precision precision = Precision::kStandard;
  Direction direction = Direction::kForward;
  Place place = Place::kDense, bc_place = Place::kDense, state_place = Place::kDense;
  Place dt_place = Place::kDense;
  Fill dt = uniform(-5, 1), A = uniform(-8, -0.05);
  bool z = true, D = true, dt_bias = true, softplus = true, a_is_log = false;
  bool initial = true, final = true, final_is_initial = false;
  enum { kOwn, kIsU, kIsZ } y = kOwn;
  float dt_min = -kNone, dt_max = kNone;
  std::vector<int64_t> lengths, checkpoints;
  double special = 0;  // stored in u of one token and channel unless 0

  SelectiveScan::Args make(TensorSet& set) const {
    SelectiveScan::Args a;
    const bool packed = !lengths.empty();
    const std::vector<int64_t> starts = cumulative(lengths);
    const int64_t rows = packed ? 1 : batch;
    const int64_t tokens = packed ? starts.back() : seqlen;
    const int64_t nseq = packed ? static_cast<int64_t>(lengths.size()) : rows;
    const std::vector<int64_t> sequence{rows, tokens, dim};
    a.u = set.input(dtype, sequence, normal(), place);
    if (special != 0) set.set(a.u, {rows - 1, tokens / 2, dim / 2}, special);
    a.dt = set.input(dtype, sequence, dt, dt_place == Place::kDense ? place : dt_place);
    a.A = set.input(DType::kF32, {dim, dstate}, A);
    a.B = set.input(dtype, {rows, tokens, ngroups, dstate}, normal(), bc_place);
    a.C = set.input(dtype, {rows, tokens, ngroups, dstate}, normal(), bc_place);
    if (D) a.D = set.input(DType::kF32, {dim}, normal());
    if (z) a.z = set.input(dtype, sequence, normal(), place);
    if (dt_bias) a.dt_bias = set.input(DType::kF32, {dim}, uniform(-1, 1));
    const std::vector<int64_t> state{nseq, dim, dstate};
    if (initial) a.initial_state = set.input(DType::kF32, state, normal(), state_place);
    if (final_is_initial)
      a.final_state = set.in_place(a.initial_state);
    else if (final)
      a.final_state = set.output(DType::kF32, state, state_place);
    if (packed) a.cu_seqlens = set.indices(DType::kI32, starts);
    if (!checkpoints.empty()) {
      const auto count = static_cast<int64_t>(checkpoints.size());
      a.checkpoint_tokens = set.indices(DType::kI64, checkpoints);
      a.checkpoint_states = set.output(DType::kF32, {rows, count, dim, dstate}, state_place);
    }
    if (y == kOwn)
      a.y = set.output(dtype, sequence, place);
    else
      a.y = set.in_place(y == kIsU ? a.u : a.z);
    a.dt_softplus = softplus;
    a.A_is_log = a_is_log;
    a.dt_min = dt_min;
    a.dt_max = dt_max;
    a.direction = direction;
    a.precision = precision;
    return a;
  }
};

void add_layouts(CaseList<SelectiveScan, Spec>& list) {
  for (const NamedPlace& p : kPlaces) {
    list.with(p.name, [&](Spec& c) { c.place = p.place; });
    list.with(std::string("reverse_") + p.name,
              [&](Spec& c) { c.place = p.place, c.direction = Direction::kReverse; });
    list.with(std::string("bc_") + p.name, [&](Spec& c) { c.bc_place = p.place; });
    list.with(std::string("states_") + p.name, [&](Spec& c) { c.state_place = p.place; });
  }
  list.with("only_dt_channels_first", [](Spec& c) { c.dt_place = Place::kChannelsFirst; });
  list.with("constant_dt", [](Spec& c) { c.dt_place = Place::kBroadcast; });
  list.with("constant_bc", [](Spec& c) { c.bc_place = Place::kBroadcast; });
  list.with("y_is_u", [](Spec& c) { c.y = Spec::kIsU; });
  list.with("y_is_z", [](Spec& c) { c.y = Spec::kIsZ; });
  list.with("y_is_u_reverse", [](Spec& c) { c.y = Spec::kIsU, c.direction = Direction::kReverse; });
  list.with("final_is_initial", [](Spec& c) { c.final_is_initial = true; });
  list.with("final_is_initial_length_0", [](Spec& c) { c.final_is_initial = true, c.seqlen = 0; });
}

void add_numbers(CaseList<SelectiveScan, Spec>& list) {
  list.with("dt_30", [](Spec& c) { c.dt = uniform(19, 30); });
  list.with("dt_100", [](Spec& c) { c.dt = constant(100); });
  list.with("dt_very_negative", [](Spec& c) { c.dt = uniform(-120, -80); });
  list.with("dt_zero", [](Spec& c) { c.dt = constant(0), c.softplus = c.dt_bias = false; });
  list.with("no_softplus", [](Spec& c) { c.dt = uniform(0, 1), c.softplus = c.dt_bias = false; });
  list.with("strong_decay", [](Spec& c) { c.A = constant(-1e4); });
  list.with("weak_decay", [](Spec& c) { c.A = constant(-1e-4); });
  list.with("no_decay", [](Spec& c) { c.A = constant(0); });
  list.with("tiny_decay_factors", [](Spec& c) {
    c.dt = uniform(80, 110), c.A = constant(-1), c.softplus = c.dt_bias = false;
  });
  list.with("a_is_log", [](Spec& c) { c.a_is_log = true, c.A = uniform(-3, 3); });
  list.with("dt_limit", [](Spec& c) { c.dt_min = 0.01f, c.dt_max = 0.2f; });
  list.with("dt_min_only", [](Spec& c) { c.dt_min = 0.5f; });
  list.with("dt_max_only", [](Spec& c) { c.dt_max = 0.1f; });
  list.with("nan_in_a_token", [](Spec& c) { c.special = NAN; });
  list.with("nan_in_a_token_reverse",
            [](Spec& c) { c.special = NAN, c.direction = Direction::kReverse; });
}

void add_packed(CaseList<SelectiveScan, Spec>& list) {
  list.with("packed", [](Spec& c) { c.lengths = {5, 0, 1, 1, 30}; });
  list.with("packed_short_then_long", [](Spec& c) { c.lengths = {1, 1, 1, 200}, c.dim = 17; });
  list.with("packed_reverse", [](Spec& c) {
    c.lengths = {5, 0, 1, 1, 30}, c.direction = Direction::kReverse;
  });
  list.with("packed_no_states", [](Spec& c) {
    c.lengths = {2, 70, 3}, c.initial = c.final = false;
  });
  list.with("packed_many_of_length_1",
            [](Spec& c) { c.lengths = std::vector<int64_t>(200, 1), c.dim = 9; });
  list.with("checkpoints", [](Spec& c) { c.checkpoints = {0, 1, 17, 36}; });
  list.with("checkpoints_reverse", [](Spec& c) {
    c.checkpoints = {36, 20, 3, 0}, c.direction = Direction::kReverse;
  });
  list.with("checkpoints_packed", [](Spec& c) {
    c.lengths = {5, 0, 1, 30}, c.checkpoints = {2, 4, 5, 35};
  });
  list.with("checkpoints_packed_reverse", [](Spec& c) {
    c.lengths = {5, 0, 1, 30}, c.checkpoints = {3, 1, 5, 35, 6}, c.direction = Direction::kReverse;
  });
}

}  // namespace

template <>
std::vector<Case<SelectiveScan>> cases<SelectiveScan>() {
  CaseList<SelectiveScan, Spec> list;
  list.each("length", kSizes, [](Spec& c, int64_t n) { c.seqlen = n; });
  list.each("dim", kSizes, [](Spec& c, int64_t n) { c.dim = n; });
  list.each("dstate", {0, 1, 2, 3, 5, 8, 15, 17, 32, 33, 64, 128, 256},
            [](Spec& c, int64_t n) { c.dstate = n, c.seqlen = 9, c.dim = 19; });
  list.each("groups", {2, 5, 8, 40}, [](Spec& c, int64_t n) { c.ngroups = n; });
  list.each("batch", {0, 1, 7}, [](Spec& c, int64_t n) { c.batch = n; });
  list.each("reverse_length", {0, 1, 2, 65},
            [](Spec& c, int64_t n) { c.seqlen = n, c.direction = Direction::kReverse; });
  list.each("channels_first_length", {0, 1, 2, 17, 65},
            [](Spec& c, int64_t n) { c.seqlen = n, c.place = Place::kChannelsFirst; });
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::string name = to_string(dtype);
    list.with(name, [&](Spec& c) { c.dtype = dtype; });
    list.with(name + "_odd", [&](Spec& c) { c.dtype = dtype, c.dim = 17, c.seqlen = 19; });
    list.with(name + "_reverse",
              [&](Spec& c) { c.dtype = dtype, c.direction = Direction::kReverse; });
    list.with(name + "_channels_first",
              [&](Spec& c) { c.dtype = dtype, c.place = Place::kChannelsFirst; });
    list.with(name + "_spaced", [&](Spec& c) { c.dtype = dtype, c.place = Place::kSpaced; });
    list.with(name + "_packed", [&](Spec& c) { c.dtype = dtype, c.lengths = {5, 0, 1, 30}; });
    list.with(name + "_strict",
              [&](Spec& c) { c.dtype = dtype, c.precision = Precision::kStrict; });
  }
  list.with("strict", [](Spec& c) { c.precision = Precision::kStrict; });
  list.with("strict_reverse",
            [](Spec& c) { c.precision = Precision::kStrict, c.direction = Direction::kReverse; });
  list.with("fast", [](Spec& c) { c.precision = Precision::kFast; });
  list.with("no_z", [](Spec& c) { c.z = false; });
  list.with("no_d", [](Spec& c) { c.D = false; });
  list.with("no_dt_bias", [](Spec& c) { c.dt_bias = false; });
  list.with("no_initial_state", [](Spec& c) { c.initial = false; });
  list.with("no_final_state", [](Spec& c) { c.final = false; });
  list.with("no_options", [](Spec& c) {
    c.z = c.D = c.dt_bias = c.softplus = c.initial = c.final = false, c.dt = uniform(0, 1);
  });
  add_layouts(list);
  add_numbers(list);
  add_packed(list);
  // Enough channels for the forms that a GPU has for more of them.
  const auto wide = [](Spec& c) { c.batch = 1, c.dim = 4400, c.seqlen = 36; };
  list.with("wide", wide);
  list.with("wide_reverse", [&](Spec& c) { wide(c), c.direction = Direction::kReverse; });
  list.with("wide_channels_first", [&](Spec& c) { wide(c), c.place = Place::kChannelsFirst; });
  list.with("wide_packed", [&](Spec& c) { c.lengths = {5, 0, 1, 50}, c.dim = 1700; });
  list.with("wide_no_options", [&](Spec& c) {
    wide(c), c.z = c.D = c.dt_bias = c.softplus = c.initial = c.final = false;
    c.dt = uniform(0, 1);
  });
  list.with("wide_BF16", [&](Spec& c) { wide(c), c.dtype = DType::kBF16; });
  list.with("wide_F16_groups", [&](Spec& c) { wide(c), c.dtype = DType::kF16, c.ngroups = 4; });
  // Past the tokens from which a GPU has a form of its own for so many channels.
  const auto wide_long = [](Spec& c) { c.batch = 1, c.dim = 4300, c.seqlen = 261; };
  list.with("wide_long", wide_long);
  list.with("wide_long_reverse_no_options", [&](Spec& c) {
    wide_long(c), c.z = c.D = c.dt_bias = c.softplus = c.initial = c.final = false;
    c.dt = uniform(0, 1), c.direction = Direction::kReverse;
  });
  list.with("wide_long_BF16_limited_y_is_z", [&](Spec& c) {
    wide_long(c), c.y = Spec::kIsZ, c.dt_min = 0.01f, c.dt_max = 0.2f, c.final_is_initial = true;
    c.dtype = DType::kBF16, c.dim = 3200;
  });
  list.with("wide_long_F16_groups_reverse", [&](Spec& c) {
    wide_long(c), c.dtype = DType::kF16, c.ngroups = 2, c.direction = Direction::kReverse;
    c.dim = 4400;
  });
  const auto wider = [](Spec& c) { c.dim = 5400, c.seqlen = 21; };
  list.with("wider", wider);
  list.with("wider_reverse", [&](Spec& c) { wider(c), c.direction = Direction::kReverse; });
  list.with("wider_channels_first", [&](Spec& c) { wider(c), c.place = Place::kChannelsFirst; });
  list.with("wider_no_options", [&](Spec& c) {
    wider(c), c.z = c.D = c.dt_bias = c.softplus = c.initial = c.final = false;
    c.dt = uniform(0, 1);
  });
  list.with("wider_BF16", [&](Spec& c) { wider(c), c.dtype = DType::kBF16, c.seqlen = 48; });
  list.with("wider_BF16_reverse",
            [&](Spec& c) { wider(c), c.dtype = DType::kBF16, c.direction = Direction::kReverse; });
  list.with("wider_F16", [&](Spec& c) { wider(c), c.dtype = DType::kF16; });
  list.with("wider_groups", [&](Spec& c) { wider(c), c.ngroups = 2; });
  // Of channels whose groups begin at multiples of 16 bytes, and of others.
  list.with("wider_F16_groups_reverse", [&](Spec& c) {
    wider(c), c.dtype = DType::kF16, c.ngroups = 2, c.direction = Direction::kReverse;
    c.dim = 5408;
  });
  list.with("wider_F16_groups_apart",
            [&](Spec& c) { wider(c), c.dtype = DType::kF16, c.ngroups = 2; });
  list.with("wider_limited_y_is_u", [&](Spec& c) {
    wider(c), c.y = Spec::kIsU, c.dt_min = 0.01f, c.dt_max = 0.2f, c.final_is_initial = true;
  });
  list.with("wider_nan_in_a_token", [&](Spec& c) { wider(c), c.special = NAN; });
  list.with("length_1026", [](Spec& c) { c.seqlen = 1026, c.dim = 17; });
  list.with("model_re_use_frequency",
            [](Spec& c) { c.batch = 3, c.seqlen = 81, c.dim = 256, c.initial = c.final = false; });
  list.with("model_re_use_time",
            [](Spec& c) { c.batch = 1, c.seqlen = 2001, c.dim = 64, c.initial = c.final = false; });
  return list.take();
}

}  // namespace hiss::testing_support
