// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hiss/arena.h"
#include "hiss/ops/all.h"
#include "ops/compare.h"
#include "ops/fields.h"

// Running one kernel, and holding what it gives against the reference.
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

// check(), then this kernel with a workspace of exactly the size it asked for, full of NaN.
template <class Op>
Status run_kernel(const Kernel<Op>& kernel, const typename Op::Args& args,
                  Executor* executor = nullptr) {
  HISS_RETURN_IF_ERROR(Op::check(args));
  const typename Op::Problem problem = Op::describe(args);
  if (const Decline declined = kernel.declines(problem, this_machine()); !declined.empty())
    return Unsupported(std::string(declined));
  const size_t bytes = kernel.workspace_bytes ? kernel.workspace_bytes(problem, this_machine()) : 0;
  HISS_ASSIGN_OR_RETURN(Arena arena, Arena::create(bytes));
  const std::span<std::byte> workspace = arena.take<std::byte>(static_cast<int64_t>(bytes));
  std::fill(workspace.begin(), workspace.end(), std::byte{0xff});
  return kernel.run(args, {.workspace = workspace, .executor = executor});
}

// The reference's answer in F32 from exact copies of the inputs. Make it before the kernel runs:
// states are read and written.
template <class Op>
class Expected {
 public:
  explicit Expected(const typename Op::Args& args) : args_(args) {
    ops::Fields<Op>::tensors(args_, [&](std::string_view, auto& view) { view = copy(view); });
  }
  Status run() { return run_kernel(*kernels<Op>().back(), args_); }
  const typename Op::Args& args() const { return args_; }

 private:
  template <class View>
  View copy(const View& view) {
    if (!view.present()) return view;
    const bool index = view.dtype == DType::kI32 || view.dtype == DType::kI64;
    TensorView dense;
    dense.dtype = index ? view.dtype : DType::kF32;
    dense.rank = view.rank;
    dense.shape = view.shape;
    int64_t step = 1;
    for (int axis = view.rank - 1; axis >= 0; --axis) {
      dense.stride[axis] = step;
      step *= view.shape[axis];
    }
    memory_.push_back(std::make_unique<std::byte[]>(step * size_of(dense.dtype) + 1));
    dense.data = memory_.back().get();
    copy_elements(view, dense);
    return dense;
  }

  typename Op::Args args_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

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
