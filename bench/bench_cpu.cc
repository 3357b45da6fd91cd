// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Every kernel of the table on the cases named after models, one thread: time, and bytes of the
// tensors over time. A result outside the contract's bound is an error, not a time.
//   bench_cpu [--benchmark_filter=REGEX] [--benchmark_repetitions=N] ...

#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "support/case.h"
#include "support/run.h"

namespace hiss::testing_support {
namespace {

// Of every tensor once, whatever a kernel reads again.
template <class Op>
int64_t bytes_of(const typename Op::Args& args) {
  int64_t bytes = 0;
  ops::Fields<Op>::tensors(args, [&](std::string_view, const auto& view) {
    if (view.present()) bytes += view.elements() * size_of(view.dtype);
  });
  return bytes;
}

// Why the kernel's answer to this case may not be timed; empty: it may.
template <class Op>
std::string fault(const Kernel<Op>& kernel, const Case<Op>& c) {
  TensorSet set(seed_of(c.name));
  const typename Op::Args args = c.make(set);
  Expected<Op> expected(args);
  if (const Status status = run_kernel(kernel, args); !status.ok()) return status.message();
  if (const Status status = expected.run(); !status.ok()) return status.message();
  const auto match = outputs_match<Op>(args, expected.args());
  return match ? "" : match.message();
}

template <class Op>
void time_kernel(benchmark::State& state, const Kernel<Op>& kernel, const Case<Op>& c) {
  if (const std::string why = fault(kernel, c); !why.empty()) {
    state.SkipWithError(why.c_str());
    return;
  }
  TensorSet set(seed_of(c.name));
  const typename Op::Args args = c.make(set);
  const typename Op::Problem problem = Op::describe(args);
  const size_t bytes = kernel.workspace_bytes ? kernel.workspace_bytes(problem, this_machine()) : 0;
  Result<Arena> arena = Arena::create(bytes);
  if (!arena) {
    state.SkipWithError(arena.error().message().c_str());
    return;
  }
  const Launch launch{.workspace = arena->take<std::byte>(static_cast<int64_t>(bytes))};
  for (auto _ : state) {
    if (const Status status = kernel.run(args, launch); !status.ok())
      state.SkipWithError(status.message().c_str());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes_of<Op>(args));
}

// A kernel that declines a case has no line for it.
template <class Op>
void add_operator() {
  for (const Case<Op>& c : cases<Op>()) {
    if (!c.name.starts_with("model_")) continue;
    TensorSet set(seed_of(c.name));
    const typename Op::Problem problem = Op::describe(c.make(set));
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      if (!kernel->why_not(problem, this_machine()).empty()) continue;
      const std::string name = std::string(kernel->name) + "/" + c.name;
      benchmark::RegisterBenchmark(name.c_str(), [kernel, c](benchmark::State& state) {
        time_kernel<Op>(state, *kernel, c);
      })->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace
}  // namespace hiss::testing_support

int main(int argc, char** argv) {
  using namespace hiss;
  using namespace hiss::testing_support;
  add_operator<CausalConv1d>();
  add_operator<CausalConv1dUpdate>();
  add_operator<SelectiveScan>();
  add_operator<SsdChunkScan>();
  add_operator<SelectiveStateUpdate>();
  benchmark::AddCustomContext("machine", to_string(this_machine()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
