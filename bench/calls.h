// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "clock.h"
#include "hiss/arena.h"
#include "hiss/executor.h"
#include "hiss/kernel.h"
#include "hiss/machine.h"
#include "ops/fields.h"
#include "shapes.h"
#include "timer.h"

// Kernels as what is timed.
namespace hiss::bench {

// A kernel on arguments whose outputs are its own.
template <class Op>
class KernelCall final : public Timed {
 public:
  static Result<std::unique_ptr<KernelCall>> create(const Kernel<Op>& kernel,
                                                    typename Op::Args args, Executor& executor) {
    std::unique_ptr<KernelCall> call(new KernelCall(kernel, executor));
    ops::Fields<Op>::tensors(args, [&](std::string_view, auto& view) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(view)>, TensorView>)
        if (view.present()) view = call->outputs_.copy(view);
    });
    call->args_ = args;
    const auto problem = Op::describe(args);
    const size_t bytes =
        kernel.workspace_bytes ? kernel.workspace_bytes(problem, this_machine()) : 0;
    HISS_ASSIGN_OR_RETURN(call->arena_, Arena::create(bytes));
    call->workspace_ = call->arena_.template take<std::byte>(static_cast<int64_t>(bytes));
    HISS_RETURN_IF_ERROR(call->run());
    return call;
  }

  const Kernel<Op>& kernel() const { return kernel_; }
  const typename Op::Args& args() const { return args_; }
  Status run() { return kernel_.run(args_, {.workspace = workspace_, .executor = &executor_}); }
  // The clock of one thread is the thread's own: others disturb it less than the wall's.
  Result<double> milliseconds_of_a_call() override {
    const bool alone = executor_.workers() == 1;
    if (calls_ == 0) {
      const double start = milliseconds(alone);
      HISS_RETURN_IF_ERROR(run());
      calls_ = calls_in_a_sample(milliseconds(alone) - start);
    }
    const double start = milliseconds(alone);
    for (int i = 0; i < calls_; ++i) HISS_RETURN_IF_ERROR(run());
    return (milliseconds(alone) - start) / calls_;
  }

 private:
  KernelCall(const Kernel<Op>& kernel, Executor& executor) : kernel_(kernel), executor_(executor) {}

  const Kernel<Op>& kernel_;
  Executor& executor_;
  typename Op::Args args_;
  Tensors outputs_;
  Arena arena_;
  std::span<std::byte> workspace_;
  int calls_ = 0;
};

// A kernel on each of the pool's threads by itself, each on its own tensors; milliseconds of one.
template <class Op>
class CallsApart final : public Timed {
 public:
  static Result<std::unique_ptr<CallsApart>> create(const Kernel<Op>& kernel,
                                                    const Shape<Op>& shape, Precision precision,
                                                    Executor& pool) {
    std::unique_ptr<CallsApart> apart(new CallsApart(pool));
    for (int i = 0; i < pool.workers(); ++i) {
      apart->tensors_.push_back(std::make_unique<Tensors>());
      typename Op::Args args = shape.make(*apart->tensors_.back());
      args.precision = precision;
      HISS_ASSIGN_OR_RETURN(auto call, KernelCall<Op>::create(kernel, args, serial_executor()));
      apart->calls_.push_back(std::move(call));
    }
    return apart;
  }
  Result<double> milliseconds_of_a_call() override {
    if (times_ == 0) {
      HISS_ASSIGN_OR_RETURN(const double once, measure(1));
      times_ = calls_in_a_sample(once);
    }
    return measure(times_);
  }

 private:
  explicit CallsApart(Executor& pool) : pool_(pool) {}
  Result<double> measure(int times) {
    std::vector<Status> statuses(calls_.size());
    const double start = milliseconds(false);
    pool_.run(static_cast<int64_t>(calls_.size()), [&](int64_t task, int) {
      Status& status = statuses[static_cast<size_t>(task)];
      for (int i = 0; i < times && status.ok(); ++i)
        status = calls_[static_cast<size_t>(task)]->run();
    });
    const double took = milliseconds(false) - start;
    for (const Status& status : statuses) HISS_RETURN_IF_ERROR(status);
    return took / times / static_cast<double>(calls_.size());
  }

  Executor& pool_;
  std::vector<std::unique_ptr<Tensors>> tensors_;
  std::vector<std::unique_ptr<KernelCall<Op>>> calls_;
  int times_ = 0;
};

}  // namespace hiss::bench
