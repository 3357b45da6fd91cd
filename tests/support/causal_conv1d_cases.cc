// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "support/case_list.h"

namespace hiss::testing_support {
namespace {

struct Spec {
  int64_t batch = 2, seqlen = 37, dim = 40, width = 4;
  DType dtype = DType::kF32;
  Precision precision = Precision::kStandard;
  Direction direction = Direction::kForward;
  Activation activation = Activation::kSilu;
  Place place = Place::kDense, x_place = Place::kDense;
  Fill x = normal();
  bool bias = true, initial = true, final = true, final_is_initial = false;
  std::vector<int64_t> lengths;
  bool long_indices = false;
  double special = 0;  // stored in one token of one channel unless 0

  CausalConv1d::Args make(TensorSet& set) const {
    CausalConv1d::Args a;
    const bool packed = !lengths.empty();
    const std::vector<int64_t> starts = cumulative(lengths);
    const int64_t rows = packed ? 1 : batch;
    const int64_t tokens = packed ? starts.back() : seqlen;
    const int64_t nseq = packed ? static_cast<int64_t>(lengths.size()) : rows;
    a.x = set.input(dtype, {rows, tokens, dim}, x, x_place == Place::kDense ? place : x_place);
    if (special != 0) set.set(a.x, {rows - 1, tokens / 2, dim / 2}, special);
    a.weight = set.input(DType::kF32, {dim, width}, normal(0.5));
    if (bias) a.bias = set.input(DType::kF32, {dim}, normal(0.3));
    if (packed) a.cu_seqlens = set.indices(long_indices ? DType::kI64 : DType::kI32, starts);
    const std::vector<int64_t> state{nseq, width - 1, dim};
    if (initial) a.initial_state = set.input(DType::kF32, state, normal(), place);
    if (final_is_initial)
      a.final_state = set.in_place(a.initial_state);
    else if (final)
      a.final_state = set.output(DType::kF32, state, place);
    a.y = set.output(dtype, {rows, tokens, dim}, place);
    a.activation = activation;
    a.direction = direction;
    a.precision = precision;
    return a;
  }
};

}  // namespace

template <>
std::vector<Case<CausalConv1d>> cases<CausalConv1d>() {
  CaseList<CausalConv1d, Spec> list;
  list.with("larger_than_caches", [](Spec& c) { c.batch = 2, c.seqlen = 2051, c.dim = 1024; });
  list.each("length", kSizes, [](Spec& c, int64_t n) { c.seqlen = n; });
  list.each("dim", kSizes, [](Spec& c, int64_t n) { c.dim = n; });
  list.each("width", {1, 2, 3, 5, 8, 17}, [](Spec& c, int64_t n) { c.width = n; });
  list.each("batch", {0, 1, 7}, [](Spec& c, int64_t n) { c.batch = n; });
  list.each("reverse_length", {0, 1, 2, 3, 4, 65},
            [](Spec& c, int64_t n) { c.seqlen = n, c.direction = Direction::kReverse; });
  list.each("channels_first_length", {0, 1, 2, 3, 4, 17, 65},
            [](Spec& c, int64_t n) { c.seqlen = n, c.place = Place::kChannelsFirst; });
  for (const NamedPlace& p : kPlaces) {
    list.with(p.name, [&](Spec& c) { c.place = p.place; });
    list.with(std::string("reverse_") + p.name,
              [&](Spec& c) { c.place = p.place, c.direction = Direction::kReverse; });
  }
  list.with("only_x_channels_first", [](Spec& c) { c.x_place = Place::kChannelsFirst; });
  list.with("broadcast_x", [](Spec& c) { c.x_place = Place::kBroadcast; });
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::string name = to_string(dtype);
    list.with(name, [&](Spec& c) { c.dtype = dtype; });
    list.with(name + "_larger_than_caches",
              [&](Spec& c) { c.dtype = dtype, c.seqlen = 2051, c.dim = 1024; });
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
  list.with("no_activation", [](Spec& c) { c.activation = Activation::kNone; });
  list.with("no_bias", [](Spec& c) { c.bias = false; });
  list.with("no_initial_state", [](Spec& c) { c.initial = false; });
  list.with("no_states", [](Spec& c) { c.initial = c.final = false; });
  list.with("only_x_and_weight", [](Spec& c) {
    c.initial = c.final = c.bias = false, c.activation = Activation::kNone;
  });
  list.with("final_is_initial", [](Spec& c) { c.final_is_initial = true; });
  list.with("final_is_initial_length_1", [](Spec& c) { c.final_is_initial = true, c.seqlen = 1; });
  list.with("final_is_initial_reverse_length_2", [](Spec& c) {
    c.final_is_initial = true, c.seqlen = 2, c.direction = Direction::kReverse;
  });
  list.with("packed", [](Spec& c) { c.lengths = {5, 0, 1, 1, 30}; });
  list.with("packed_long_indices", [](Spec& c) {
    c.lengths = {1, 1, 1, 40}, c.long_indices = true;
  });
  list.with("packed_reverse", [](Spec& c) {
    c.lengths = {5, 0, 1, 1, 30}, c.direction = Direction::kReverse;
  });
  list.with("packed_channels_first", [](Spec& c) {
    c.lengths = {5, 0, 1, 1, 30}, c.place = Place::kChannelsFirst;
  });
  list.with("packed_many_of_length_1", [](Spec& c) { c.lengths = std::vector<int64_t>(300, 1); });
  list.with("packed_no_states", [](Spec& c) {
    c.lengths = {2, 70, 3}, c.initial = c.final = false;
  });
  // Sequences that begin anywhere in a tile of a kernel, and where it begins, with more channels
  // than a block has.
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const Place place : {Place::kDense, Place::kChannelsFirst})
      for (const Direction direction : {Direction::kForward, Direction::kReverse}) {
        const std::string name = std::string("packed_many_") + to_string(dtype) +
                                 (place == Place::kDense ? "" : "_channels_first") +
                                 (direction == Direction::kForward ? "" : "_reverse");
        const auto make = [=](Spec& c) {
          c.lengths = {1, 2, 3, 0, 7, 8, 9, 0, 0, 1, 1, 1, 1, 64, 30, 2, 126};
          c.dim = 264, c.dtype = dtype, c.place = place, c.direction = direction;
        };
        list.with(name, make);
        list.with(name + "_in_place", [=](Spec& c) { make(c), c.final_is_initial = true; });
      }
  for (const Place place : {Place::kDense, Place::kChannelsFirst})
    list.each(place == Place::kDense ? "many_states_length" : "many_states_channels_first_length",
              {1, 2, 5, 8, 15}, [=](Spec& c, int64_t n) {
                c.batch = 24, c.seqlen = n, c.dim = 136, c.place = place, c.final_is_initial = true;
              });
  list.with("large_inputs", [](Spec& c) { c.x = normal(200); });
  list.with("tiny_inputs", [](Spec& c) { c.x = normal(1e-30); });
  list.with("nan_in_a_token", [](Spec& c) { c.special = NAN; });
  list.with("inf_in_a_token",
            [](Spec& c) { c.special = INFINITY, c.activation = Activation::kNone; });
  list.each("channels_first_length", {513, 1026},
            [](Spec& c, int64_t n) { c.seqlen = n, c.dim = 16, c.place = Place::kChannelsFirst; });
  list.with("reverse_channels_first_length_601", [](Spec& c) {
    c.seqlen = 601, c.dim = 16, c.place = Place::kChannelsFirst, c.direction = Direction::kReverse;
  });
  // Rows that follow one another, with zeros before each.
  const auto bare = [](Spec& c) { c.initial = c.final = false; };
  list.each("bare_length", {1, 2, 5, 15, 16, 33},
            [&](Spec& c, int64_t n) { bare(c), c.seqlen = n; });
  list.each("bare_channels_first_length", {1, 2, 3, 7, 8, 9, 24, 81},
            [&](Spec& c, int64_t n) { bare(c), c.seqlen = n, c.place = Place::kChannelsFirst; });
  for (const int64_t width : {2, 3, 4})
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
      for (const Place place : {Place::kDense, Place::kChannelsFirst}) {
        const std::string name =
            std::string(place == Place::kDense ? "bare_reverse_" : "bare_channels_first_reverse_") +
            to_string(dtype) + "_width_" + std::to_string(width);
        list.with(name, [=](Spec& c) {
          bare(c), c.dtype = dtype, c.width = width, c.place = place;
          c.seqlen = 11, c.batch = 5, c.direction = Direction::kReverse;
        });
      }
  // Rows of which some begin within a vector, longer than those that a thread has alone; and such
  // sequences.
  for (const DType dtype : {DType::kBF16, DType::kF16})
    for (const Direction direction : {Direction::kForward, Direction::kReverse}) {
      const std::string name = std::string("channels_first_") + to_string(dtype) +
                               (direction == Direction::kForward ? "" : "_reverse");
      const auto make = [=](Spec& c) {
        c.dtype = dtype, c.place = Place::kChannelsFirst, c.direction = direction;
      };
      list.each(name + "_length", {21, 83, 331},
                [=](Spec& c, int64_t n) { make(c), c.batch = 3, c.seqlen = n; });
      list.with(name + "_packed_unaligned", [=](Spec& c) {
        make(c), c.dim = 72;
        c.lengths = {3, 0, 61, 1, 1, 2, 70, 5};
      });
    }
  list.with("bare_channels_first_nan_in_a_row", [&](Spec& c) {
    bare(c), c.special = NAN, c.seqlen = 3, c.place = Place::kChannelsFirst;
  });
  list.with("bare_nan_in_a_row", [&](Spec& c) { bare(c), c.special = NAN, c.seqlen = 2; });
  list.with("length_1026", [](Spec& c) { c.seqlen = 1026, c.dim = 17; });
  list.with("model_re_use_frequency",
            [](Spec& c) { c.batch = 20, c.seqlen = 81, c.dim = 256, c.initial = c.final = false; });
  list.with("model_re_use_time",
            [](Spec& c) { c.batch = 1, c.seqlen = 2001, c.dim = 64, c.initial = c.final = false; });
  return list.take();
}

}  // namespace hiss::testing_support
