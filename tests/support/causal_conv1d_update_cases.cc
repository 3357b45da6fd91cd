// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "support/case_list.h"

namespace hiss::testing_support {
namespace {

struct Spec {
  int64_t batch = 3, ntokens = 2, dim = 40, width = 4, nslots = 5;
  DType dtype = DType::kF32;
  Precision precision = Precision::kStandard;
  Activation activation = Activation::kSilu;
  Place place = Place::kDense, state_place = Place::kDense;
  bool bias = true, snapshots = true;
  std::vector<int64_t> slots{4, 0, 2};
  double special = 0;  // stored in one token of one channel unless 0

  CausalConv1dUpdate::Args make(TensorSet& set) const {
    CausalConv1dUpdate::Args a;
    a.x = set.input(dtype, {batch, ntokens, dim}, normal(), place);
    if (special != 0) set.set(a.x, {batch - 1, 0, dim / 2}, special);
    a.weight = set.input(DType::kF32, {dim, width}, normal(0.5));
    if (bias) a.bias = set.input(DType::kF32, {dim}, normal(0.3));
    a.state = set.state(DType::kF32, {nslots, width - 1, dim}, normal(), state_place);
    if (!slots.empty()) a.state_indices = set.indices(DType::kI32, slots);
    if (snapshots)
      a.snapshots = set.output(DType::kF32, {batch, ntokens, width - 1, dim}, state_place);
    a.y = set.output(dtype, {batch, ntokens, dim}, place);
    a.activation = activation;
    a.precision = precision;
    return a;
  }
};

}  // namespace

template <>
std::vector<Case<CausalConv1dUpdate>> cases<CausalConv1dUpdate>() {
  CaseList<CausalConv1dUpdate, Spec> list;
  list.each("tokens", {0, 1, 3, 4, 5, 9}, [](Spec& c, int64_t n) { c.ntokens = n; });
  list.each("dim", kSizes, [](Spec& c, int64_t n) { c.dim = n; });
  list.each("width", {1, 2, 3, 5, 8}, [](Spec& c, int64_t n) { c.width = n; });
  for (const NamedPlace& p : kPlaces) {
    // Rows far apart take 17 GB each: no more of them than it needs.
    const auto place = [&](Spec& c) -> Spec& {
      if (p.place == Place::kFar) c.batch = 2, c.nslots = 3, c.slots = {2, 0};
      return c;
    };
    list.with(p.name, [&](Spec& c) { place(c).place = p.place; });
    list.with(std::string("state_") + p.name, [&](Spec& c) { place(c).state_place = p.place; });
  }
  for (const DType dtype : {DType::kF16, DType::kBF16})
    list.with(to_string(dtype), [&](Spec& c) { c.dtype = dtype; });
  list.with("strict", [](Spec& c) { c.precision = Precision::kStrict; });
  list.with("fast", [](Spec& c) { c.precision = Precision::kFast; });
  list.with("no_activation", [](Spec& c) { c.activation = Activation::kNone; });
  list.with("no_bias", [](Spec& c) { c.bias = false; });
  list.with("no_snapshots", [](Spec& c) { c.snapshots = false; });
  list.with("no_indices", [](Spec& c) { c.slots = {}; });
  list.with("padding_rows", [](Spec& c) { c.slots = {-1, 3, -7}; });
  list.with("no_rows", [](Spec& c) { c.batch = 0, c.slots = {}; });
  list.with("no_rows_no_slots", [](Spec& c) { c.batch = c.nslots = 0, c.slots = {}; });
  list.with("nan_in_a_token", [](Spec& c) { c.special = NAN; });
  return list.take();
}

}  // namespace hiss::testing_support
