// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "hiss/ops/all.h"
#include "ops/compare.h"
#include "ops/fields.h"
#include "support/expected.h"

// Holding what a kernel gives against the reference.
namespace hiss::testing_support {

inline testing::AssertionResult ok(const Status& status) {
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.to_string();
}

// A name fit for a test: "selective_scan/cpu.avx2.lanes_over_dim" with underscores.
inline std::string test_name(std::string_view kernel) {
  std::string name(kernel);
  for (char& c : name)
    if (c == '/' || c == '.') c = '_';
  return name;
}

// Every output of `got` within the contract's bound of `expected`. Records the largest share of the
// bound that was used, so that drift shows in the test's XML.
template <class Op>
testing::AssertionResult outputs_match(const typename Op::Args& got,
                                       const typename Op::Args& expected, double slack = 1) {
  const typename Op::Problem problem = Op::describe(got);
  std::vector<std::pair<std::string, ConstTensorView>> results;
  ops::Fields<Op>::tensors(got, [&](std::string_view name, const auto& view) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(view)>, TensorView>)
      if (view.present()) results.emplace_back(name, view);
  });
  auto verdict = testing::AssertionSuccess();
  double used = 0;
  ops::Fields<Op>::tensors(expected, [&](std::string_view name, const auto& view) {
    for (const auto& [output, result] : results) {
      if (output != name) continue;
      ErrorBound bound = ops::bound_of<Op>(problem, name, result.dtype);
      bound = {bound.relative_rms * slack, bound.max_over_rms * slack, bound.relative * slack};
      const ops::Comparison c = ops::compare(result, view, bound);
      used = std::max(used, c.ratio);
      if (!c.within) verdict = testing::AssertionFailure() << name << ": " << c.text;
    }
  });
  testing::Test::RecordProperty("share_of_bound", std::to_string(used));
  return verdict;
}

// Equal values, for laws that hold exactly.
inline testing::AssertionResult identical(const ConstTensorView& a, const ConstTensorView& b) {
  const ops::Comparison c = ops::compare(a, b, {});
  if (c.within) return testing::AssertionSuccess();
  return testing::AssertionFailure() << c.text;
}

}  // namespace hiss::testing_support
