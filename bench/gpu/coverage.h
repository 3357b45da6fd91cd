// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// A few cases that stand for all of a row's, for tools under which a case takes a second: together
// they launch every function that all of them do, and have every option and order of size.
namespace hiss::bench {

// What is special about a problem: its options, and of each size the order and whether it is even.
template <class Op>
std::set<std::string> traits_of(const typename Op::Problem& problem) {
  std::set<std::string> traits;
  Op::for_each_field(problem, [&]<class V>(const char* name, const V& value) {
    std::string text = std::string(name) + "=";
    if constexpr (std::is_same_v<V, int64_t>)
      text += std::to_string(std::bit_width(static_cast<uint64_t>(value))) +
              (value % 16 == 0 ? "" : " odd");
    else if constexpr (std::is_same_v<V, bool>)
      text += value ? "true" : "false";
    else
      text += to_string(value);
    traits.insert(std::move(text));
  });
  return traits;
}

struct Coverable {
  std::string name;
  int64_t bytes = 0;
  std::set<std::string> traits;
  std::vector<const void*> functions;
  bool shared_memory = false;
};

// Those that bring something new, the smallest first.
inline std::vector<Coverable> covering(std::vector<Coverable> all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  std::vector<Coverable> chosen;
  std::set<std::string> traits;
  std::set<const void*> functions;
  for (Coverable& c : all) {
    const size_t known = traits.size() + functions.size();
    traits.insert(c.traits.begin(), c.traits.end());
    functions.insert(c.functions.begin(), c.functions.end());
    if (traits.size() + functions.size() > known) chosen.push_back(std::move(c));
  }
  return chosen;
}

}  // namespace hiss::bench
