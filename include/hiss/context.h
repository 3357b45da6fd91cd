// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hiss/executor.h"
#include "hiss/kernel.h"
#include "hiss/machine.h"
#include "hiss/status.h"

namespace hiss {

struct ContextOptions {
  int threads = 0;               // 0: one a core
  Executor* executor = nullptr;  // lent threads instead; must outlive the context
  // Kernels that must run, by full name, at most one an operator. An operator without one is free.
  std::vector<std::string> forced{};
  // Also read the environment variable HISS_FORCE (names separated by commas); `forced` wins.
  bool read_environment = true;
  void* stream = nullptr;  // the cudaStream_t that CUDA kernels are launched in
};

// Machine, threads and forced kernels: what choosing and running a kernel needs. Reads the
// environment once, here. Used by one thread at a time.
class Context {
 public:
  // kNotFound: a forced name is in no table. kInvalidArgument: two names for one operator.
  static Result<Context> create(const ContextOptions& options = {});

  const Machine& machine() const { return *machine_; }
  Executor& executor() const { return *executor_; }
  void* stream() const { return stream_; }
  // The kernel forced for an operator ("selective_scan"), or empty.
  std::string_view forced(std::string_view op) const;
  // For tests: choose as if on another machine. It must outlive the context.
  void pretend(const Machine& machine) { machine_ = &machine; }
  // 64-byte aligned scratch of at least `bytes` in the device's memory, kept for the next call (on
  // kCuda: in the same stream). Growing it on kCuda waits for the device and cannot be captured in
  // a graph: make one call of the largest size before.
  Result<std::span<std::byte>> scratch(size_t bytes, Device device = Device::kCpu);

 private:
  const Machine* machine_ = nullptr;
  std::unique_ptr<Executor> owned_;
  Executor* executor_ = nullptr;
  std::vector<std::string> forced_;
  void* stream_ = nullptr;
  struct Scratch {
    std::shared_ptr<std::byte> memory;
    size_t bytes = 0;
  };
  std::array<Scratch, 2> scratch_;  // one a Device
};

// A kernel chosen for a problem, with everything that can fail behind it.
template <class Op>
class Plan {
 public:
  explicit Plan(const Kernel<Op>* kernel, size_t workspace_bytes)
      : kernel_(kernel), workspace_bytes_(workspace_bytes) {}
  std::string_view kernel() const { return kernel_->name; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  // `args` must describe the planned problem (see describe()) and have passed check().
  Status run(const typename Op::Args& args, const Launch& launch) const {
    return kernel_->run(args, launch);
  }

 private:
  const Kernel<Op>* kernel_;
  size_t workspace_bytes_;
};

// Chooses. kUnsupported: nothing accepts, or the forced kernel declines (the text says why).
template <class Op>
Result<Plan<Op>> plan(const Context& context, const typename Op::Problem& problem) {
  HISS_ASSIGN_OR_RETURN(const Kernel<Op>* kernel,
                        select<Op>(problem, context.machine(), context.forced(Op::kName)));
  const size_t bytes =
      kernel->workspace_bytes ? kernel->workspace_bytes(problem, context.machine()) : 0;
  return Plan<Op>(kernel, bytes);
}

// check, describe, plan, run: what each operator's entry function does.
template <class Op>
Status run_operator(Context& context, const typename Op::Args& args) {
  HISS_RETURN_IF_ERROR(Op::check(args));
  HISS_ASSIGN_OR_RETURN(const Plan<Op> p, plan<Op>(context, Op::describe(args)));
  HISS_ASSIGN_OR_RETURN(auto workspace, context.scratch(p.workspace_bytes(), args.device));
  return p.run(
      args,
      Launch{.workspace = workspace, .executor = &context.executor(), .stream = context.stream()});
}

}  // namespace hiss
