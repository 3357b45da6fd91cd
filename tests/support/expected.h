// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/element.h"
#include "hiss/arena.h"
#include "hiss/ops/all.h"
#include "ops/fields.h"

// Running one kernel on host tensors, and what the reference makes of the same arguments.
namespace hiss::testing_support {

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

}  // namespace hiss::testing_support
