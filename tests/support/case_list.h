// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/case.h"

namespace hiss::testing_support {

// Builds the case list of an operator from its Spec, a struct with `Args make(TensorSet&) const`:
// base() first, then one row for each change.
template <class Op, class Spec>
class CaseList {
 public:
  CaseList() { add("base", Spec()); }
  // with("length_0", [](Spec& c) { c.seqlen = 0; })
  template <class Change>
  void with(std::string name, Change&& change) {
    Spec spec;
    change(spec);
    add(std::move(name), spec);
  }
  // each("length", {0, 1}, [](Spec& c, int64_t v) { c.seqlen = v; }): length_0, length_1
  template <class Change>
  void each(const std::string& name, const std::vector<int64_t>& values, Change&& change) {
    for (const int64_t value : values)
      with(name + "_" + std::to_string(value), [&](Spec& spec) { change(spec, value); });
  }
  // All cases so far once more, with a further change: prefix_base, prefix_length_0 ...
  template <class Change>
  void again(const std::string& prefix, Change&& change) {
    const auto so_far = specs_;
    for (auto [name, spec] : so_far) {
      change(spec);
      add(prefix + "_" + name, spec);
    }
  }
  std::vector<Case<Op>> take() const {
    std::vector<Case<Op>> cases;
    for (const auto& [name, spec] : specs_)
      cases.push_back({name, [spec = spec](TensorSet& set) { return spec.make(set); }});
    return cases;
  }

 private:
  void add(std::string name, const Spec& spec) { specs_.emplace_back(std::move(name), spec); }
  std::vector<std::pair<std::string, Spec>> specs_;
};

// [0, 3, 3, 10] from lengths 3, 0, 7.
inline std::vector<int64_t> cumulative(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> sums{0};
  for (const int64_t length : lengths) sums.push_back(sums.back() + length);
  return sums;
}

struct NamedPlace {
  const char* name;
  Place place;
};
inline constexpr NamedPlace kPlaces[] = {
    {"channels_first", Place::kChannelsFirst},
    {"wide_row", Place::kWideRow},
    {"spaced", Place::kSpaced},
    {"flipped", Place::kFlipped},
    {"mirrored", Place::kMirrored},
    {"far", Place::kFar},
};

// Around every vector length there is, and odd on purpose.
inline const std::vector<int64_t> kSizes = {0,  1,  2,  3,  5,  7,  8,  9,   15,  16, 17,
                                            31, 32, 33, 63, 64, 65, 81, 127, 128, 129};

}  // namespace hiss::testing_support
