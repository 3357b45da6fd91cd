// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>

#include "support/case_list.h"

namespace hiss::testing_support {
namespace {

constexpr float kNone = std::numeric_limits<float>::infinity();

// The same memory for all rows of a head: what Mamba-2 calls tied.
ConstTensorView tie(ConstTensorView view, int first_axis) {
  for (int axis = first_axis; axis < view.rank; ++axis) view.stride[axis] = 0;
  return view;
}

struct Spec {
  int64_t batch = 3, ntokens = 2, nheads = 4, headdim = 16, dstate = 32, ngroups = 2, nslots = 5;
  DType dtype = DType::kF32, dt_dtype = DType::kF32, state_dtype = DType::kF32;
  Precision precision = Precision::kStandard;
  Place place = Place::kDense, bc_place = Place::kDense, state_place = Place::kDense;
  Place initial_place = Place::kDense;
  Fill dt = uniform(-5, 1), A = uniform(-8, -0.05);
  bool tied = true, z = true, D = true, dt_bias = true, softplus = true, a_is_log = false;
  bool snapshots = true, initial_states = false;
  float dt_min = -kNone, dt_max = kNone;
  std::vector<int64_t> slots{4, 0, 2};
  double special = 0;  // stored in x of one token, head and row unless 0

  SelectiveStateUpdate::Args make(TensorSet& set) const {
    SelectiveStateUpdate::Args a;
    const std::vector<int64_t> tokens{batch, ntokens, nheads, headdim}, rows{nheads, headdim};
    a.x = set.input(dtype, tokens, normal(), place);
    if (special != 0) set.set(a.x, {batch - 1, 0, nheads / 2, headdim / 2}, special);
    a.dt = set.input(dt_dtype, tokens, dt, place);
    a.A = set.input(DType::kF32, {nheads, headdim, dstate}, A);
    a.B = set.input(dtype, {batch, ntokens, ngroups, dstate}, normal(), bc_place);
    a.C = set.input(dtype, {batch, ntokens, ngroups, dstate}, normal(), bc_place);
    if (D) a.D = set.input(DType::kF32, rows, normal());
    if (z) a.z = set.input(dtype, tokens, normal(), place);
    if (dt_bias) a.dt_bias = set.input(DType::kF32, rows, uniform(-1, 1));
    if (tied) {
      a.A = tie(a.A, 1);
      a.dt = tie(a.dt, 3);
      if (D) a.D = tie(a.D, 1);
      if (dt_bias) a.dt_bias = tie(a.dt_bias, 1);
    }
    a.state = set.state(state_dtype, {nslots, nheads, headdim, dstate}, normal(), state_place);
    if (!slots.empty()) a.state_indices = set.indices(DType::kI32, slots);
    if (initial_states)
      a.initial_states =
          set.input(state_dtype, {batch, nheads, headdim, dstate}, normal(), initial_place);
    if (snapshots)
      a.snapshots = set.output(state_dtype, {batch, ntokens, nheads, headdim, dstate}, state_place);
    a.y = set.output(dtype, tokens, place);
    a.dt_softplus = softplus;
    a.A_is_log = a_is_log;
    a.dt_min = dt_min;
    a.dt_max = dt_max;
    a.precision = precision;
    return a;
  }
};

}  // namespace

template <>
std::vector<Case<SelectiveStateUpdate>> cases<SelectiveStateUpdate>() {
  CaseList<SelectiveStateUpdate, Spec> list;
  list.each("tokens", {0, 1, 3, 9}, [](Spec& c, int64_t n) { c.ntokens = n; });
  list.each("headdim", {0, 1, 3, 17, 64, 80, 128, 131}, [](Spec& c, int64_t n) { c.headdim = n; });
  list.each("dstate", {0, 1, 3, 16, 17, 128, 256}, [](Spec& c, int64_t n) { c.dstate = n; });
  // One token without snapshots has an inner loop of its own.
  const auto stream = [](Spec& c, int64_t dstate) {
    c.ntokens = 1, c.snapshots = false, c.dstate = dstate, c.headdim = 7;
  };
  list.each("stream_dstate", {1, 8, 16, 17, 33, 48, 64, 97, 112, 128, 144, 256, 300}, stream);
  list.with("stream_not_tied", [&](Spec& c) { stream(c, 97), c.tied = false; });
  list.with("stream_mamba_1", [&](Spec& c) {
    stream(c, 16), c.nheads = c.ngroups = 1, c.headdim = 41, c.tied = false;
  });
  // Whole rows of whole warps, and the options that a token on its own can have.
  list.with("stream_rows_64", [&](Spec& c) { stream(c, 128), c.headdim = 64; });
  list.with("stream_rows_64_not_tied",
            [&](Spec& c) { stream(c, 64), c.headdim = 64, c.tied = false; });
  list.with("stream_mamba_1_rows_256", [&](Spec& c) {
    stream(c, 16), c.nheads = c.ngroups = 1, c.headdim = 256, c.tied = false;
  });
  list.with("stream_groups_4", [&](Spec& c) { stream(c, 32), c.nheads = 12, c.ngroups = 4; });
  list.with("stream_padding", [&](Spec& c) { stream(c, 64), c.slots = {-1, 3, -7}; });
  list.with("stream_no_indices", [&](Spec& c) { stream(c, 64), c.slots = {}; });
  list.with("stream_nan_in_a_row", [&](Spec& c) { stream(c, 48), c.special = NAN; });
  list.with("stream_a_is_log",
            [&](Spec& c) { stream(c, 64), c.a_is_log = true, c.A = uniform(-3, 3); });
  list.with("stream_dt_limit", [&](Spec& c) { stream(c, 64), c.dt_min = 0.01f, c.dt_max = 0.2f; });
  list.with("stream_no_options", [&](Spec& c) {
    stream(c, 64), c.z = c.D = c.dt_bias = c.softplus = false, c.dt = uniform(0, 1);
  });
  list.with("strict_no_snapshots_tokens_5",
            [&](Spec& c) { stream(c, 201), c.ntokens = 5, c.precision = Precision::kStrict; });
  list.with("strict_no_snapshots_not_tied_tokens_5", [&](Spec& c) {
    stream(c, 201), c.ntokens = 5, c.tied = false, c.precision = Precision::kStrict;
  });
  list.with("heads_24_groups_1", [](Spec& c) { c.nheads = 24, c.ngroups = 1; });
  list.with("heads_7_groups_7", [](Spec& c) { c.nheads = c.ngroups = 7; });
  list.with("mamba_1", [](Spec& c) {
    c.nheads = c.ngroups = 1, c.headdim = 40, c.dstate = 16, c.tied = false;
  });
  list.with("not_tied", [](Spec& c) { c.tied = false; });
  for (const NamedPlace& p : kPlaces) {
    // Rows far apart take 17 GB each: no more of them than it needs.
    const auto place = [&](Spec& c) -> Spec& {
      if (p.place == Place::kFar) c.batch = 2, c.nslots = 3, c.slots = {2, 0};
      return c;
    };
    list.with(p.name, [&](Spec& c) { place(c).place = p.place; });
    list.with(std::string("bc_") + p.name, [&](Spec& c) { place(c).bc_place = p.place; });
    list.with(std::string("state_") + p.name, [&](Spec& c) { place(c).state_place = p.place; });
  }
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::string name = to_string(dtype);
    list.with(name, [&](Spec& c) { c.dtype = c.dt_dtype = dtype; });
    list.with(name + "_dt_f32", [&](Spec& c) { c.dtype = dtype; });
    list.with(name + "_spaced", [&](Spec& c) { c.dtype = dtype, c.place = Place::kSpaced; });
    list.with(name + "_odd", [&](Spec& c) { c.dtype = dtype, c.headdim = 7, c.dstate = 17; });
    for (const int64_t dstate : {16, 128, 256, 512})
      list.with(name + "_stream_dstate_" + std::to_string(dstate), [&](Spec& c) {
        stream(c, dstate), c.dtype = c.state_dtype = dtype, c.headdim = 33;
      });
    list.with(name + "_stream_strict", [&](Spec& c) {
      stream(c, 128), c.dtype = c.state_dtype = dtype, c.precision = Precision::kStrict;
    });
    list.with(name + "_stream_not_tied", [&](Spec& c) {
      stream(c, 32), c.dtype = c.state_dtype = dtype, c.headdim = 64, c.tied = false;
    });
    list.with(name + "_stream_dt_in_it",
              [&](Spec& c) { stream(c, 64), c.dtype = c.dt_dtype = dtype; });
    list.with(name + "_state", [&](Spec& c) { c.state_dtype = dtype; });
    list.with(name + "_state_strict",
              [&](Spec& c) { c.state_dtype = dtype, c.precision = Precision::kStrict; });
  }
  list.with("strict", [](Spec& c) { c.precision = Precision::kStrict; });
  list.with("fast", [](Spec& c) { c.precision = Precision::kFast; });
  list.with("no_z", [](Spec& c) { c.z = false; });
  list.with("no_d", [](Spec& c) { c.D = false; });
  list.with("no_dt_bias", [](Spec& c) { c.dt_bias = false; });
  list.with("no_softplus", [](Spec& c) { c.dt = uniform(0, 1), c.softplus = false; });
  list.with("no_snapshots", [](Spec& c) { c.snapshots = false; });
  list.with("initial_states", [](Spec& c) { c.initial_states = true; });
  list.with("initial_states_no_tokens", [](Spec& c) { c.initial_states = true, c.ntokens = 0; });
  list.with("initial_states_tokens_33",
            [](Spec& c) { c.initial_states = true, c.ntokens = 33, c.snapshots = false; });
  list.with("initial_states_stream", [&](Spec& c) { stream(c, 97), c.initial_states = true; });
  list.with("initial_states_padding", [](Spec& c) {
    c.initial_states = true, c.slots = {-1, 3, 0};
  });
  list.with("initial_states_wide_row", [](Spec& c) {
    c.initial_states = true, c.state_place = c.initial_place = Place::kWideRow;
  });
  // Rows that lie apart otherwise than those of the slots.
  list.with("initial_states_of_another_view",
            [](Spec& c) { c.initial_states = true, c.initial_place = Place::kWideRow; });
  list.with("initial_states_of_another_view_stream", [&](Spec& c) {
    stream(c, 97), c.initial_states = true, c.initial_place = Place::kWideRow;
  });
  list.with("no_options", [](Spec& c) {
    c.z = c.D = c.dt_bias = c.softplus = c.snapshots = false, c.dt = uniform(0, 1);
  });
  list.with("no_indices", [](Spec& c) { c.slots = {}; });
  list.with("padding_rows", [](Spec& c) { c.slots = {-1, 3, -7}; });
  list.with("no_rows", [](Spec& c) { c.batch = 0, c.slots = {}; });
  list.with("dt_100", [](Spec& c) { c.dt = constant(100); });
  list.with("strong_decay", [](Spec& c) { c.A = constant(-1e4); });
  list.with("weak_decay", [](Spec& c) { c.A = constant(-1e-4); });
  list.with("a_is_log", [](Spec& c) { c.a_is_log = true, c.A = uniform(-3, 3); });
  list.with("dt_limit", [](Spec& c) { c.dt_min = 0.01f, c.dt_max = 0.2f; });
  list.with("nan_in_a_token", [](Spec& c) { c.special = NAN; });
  return list.take();
}

}  // namespace hiss::testing_support
