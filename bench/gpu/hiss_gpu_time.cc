// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Times the CUDA kernels on the cases of a file (cases.py writes it): a sample of each answer is
// held against the float64 reference first, then the kernel is timed from a CUDA graph over input
// sets that no cache holds together. A wrong answer is an error, not a time.
//   hiss_gpu_time CASES.json [--json FILE] [--filter REGEX] [--all]
// Without --all only the kernel that the table chooses is timed. Ends with 1 after a wrong answer.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <span>
#include <string>

#include "core/element.h"
#include "hiss/arena.h"
#include "ops/compare.h"
#include "ops/fields.h"
#include "replay_timer.h"
#include "work.h"

namespace hiss::bench {
namespace {

using nlohmann::json;

struct Options {
  std::string cases, json_file, filter;
  bool all = false;
};

// The reference's answer for a sample, from exact copies of its inputs in F32.
template <class Op>
class Expected {
 public:
  explicit Expected(typename Op::Args sample) : args_(sample) {
    args_.device = Device::kCpu;
    ops::Fields<Op>::tensors(args_, [&](std::string_view, auto& view) { view = in_f32(view); });
  }
  Status run() {
    HISS_RETURN_IF_ERROR(Op::check(args_));
    const Kernel<Op>& reference = *kernels<Op>().back();
    const auto problem = Op::describe(args_);
    const size_t bytes =
        reference.workspace_bytes ? reference.workspace_bytes(problem, this_machine()) : 0;
    HISS_ASSIGN_OR_RETURN(Arena arena, Arena::create(bytes));
    return reference.run(args_, {.workspace = arena.take<std::byte>(static_cast<int64_t>(bytes))});
  }
  // The largest error of the sample's outputs, as an error relative to the rms. Infinite: one is
  // outside its bound.
  double error_of(typename Op::Args sample, const typename Op::Problem& problem) {
    double error = 0;
    ops::Fields<Op>::tensors(sample, [&](std::string_view name, auto& view) {
      if constexpr (std::is_same_v<std::decay_t<decltype(view)>, TensorView>) {
        if (!view.present()) return;
        const HostCopy got(view);
        const auto bound = ops::bound_of<Op>(problem, name, view.dtype);
        const ops::Comparison c = ops::compare(got.view(), wanted(name), bound);
        if (!c.within) std::fprintf(stderr, "%s: %s\n", std::string(name).c_str(), c.text.c_str());
        error = std::max(error, c.within ? c.relative_rms : INFINITY);
      }
    });
    return error;
  }

 private:
  template <class View>
  View in_f32(const View& device) {
    if (!device.present()) return device;
    const HostCopy exact(device);
    TensorView dense;
    dense.rank = device.rank, dense.shape = device.shape;
    int64_t step = 1;
    for (int axis = device.rank - 1; axis >= 0; --axis) {
      const bool broadcast = device.stride[axis] == 0;
      dense.stride[axis] = broadcast ? 0 : step;
      if (!broadcast) step *= device.shape[axis];
    }
    memory_.push_back(std::make_unique<float[]>(static_cast<size_t>(step)));
    dense.data = memory_.back().get();
    copy_elements(exact.view(), dense);
    return dense;
  }
  ConstTensorView wanted(std::string_view wanted_name) {
    ConstTensorView result;
    ops::Fields<Op>::tensors(args_, [&](std::string_view name, auto& view) {
      if (name == wanted_name) result = view;
    });
    return result;
  }

  std::vector<std::unique_ptr<float[]>> memory_;
  typename Op::Args args_;
};

class Timer {
 public:
  explicit Timer(Options options) : options_(std::move(options)) {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  }

  // False: a wrong answer, or a kernel failed.
  template <class Op>
  bool measure_case(const json& work, json& rows) {
    DeviceTensors probe;
    const typename Op::Args first = make_args<Op>(work, probe);
    int64_t bytes = 0;
    auto counted = first;
    ops::Fields<Op>::tensors(counted, [&](std::string_view, auto& view) {
      if (view.present()) bytes += view.elements() * size_of(view.dtype);
    });
    std::vector<typename Op::Args> sets{first};
    while (static_cast<int64_t>(sets.size()) < rotating_sets(bytes))
      sets.push_back(make_args<Op>(work, probe));
    const typename Op::Problem problem = Op::describe(first);
    bool good = true, chosen = false;
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      if (kernel->device != Device::kCuda || !kernel->declines(problem, this_machine()).empty())
        continue;
      if (chosen && !options_.all) break;
      chosen = true;
      good &= measure(*kernel, sets, problem, work, rows);
    }
    if (!chosen) std::printf("%s: no CUDA kernel takes it\n", name_of(work).c_str());
    return good;
  }

  static std::string name_of(const json& work) {
    return work.at("operator").get<std::string>() + " " + work.at("case").get<std::string>() + " " +
           work.at("dtype").get<std::string>();
  }
  const Options& options() const { return options_; }

 private:
  template <class Op>
  bool measure(const Kernel<Op>& kernel, const std::vector<typename Op::Args>& sets,
               const typename Op::Problem& problem, const json& work, json& rows) {
    const size_t bytes =
        kernel.workspace_bytes ? kernel.workspace_bytes(problem, this_machine()) : 0;
    void* workspace = nullptr;
    ok(cudaMalloc(&workspace, bytes + 1), "workspace");
    ok(cudaMemset(workspace, 0xff, bytes + 1), "workspace");
    const Launch launch{.workspace = {static_cast<std::byte*>(workspace), bytes},
                        .stream = stream_};
    Status status = Op::check(sets.front());
    const auto run = [&](int64_t set) {
      if (status.ok()) status = kernel.run(sets[static_cast<size_t>(set)], launch);
    };
    ok(cudaDeviceSynchronize(), "filling the inputs");
    Expected<Op> expected(sample_of(sets.front()));
    run(0);
    ok(cudaStreamSynchronize(stream_), "the kernel");
    if (status.ok()) status = expected.run();
    const double error =
        status.ok() ? expected.error_of(sample_of(sets.front()), problem) : INFINITY;
    bool good = std::isfinite(error);
    if (good) {
      const Times times = time_replayed(static_cast<int64_t>(sets.size()), run, stream_);
      good = status.ok();
      json row = work;
      row.update({{"kernel", kernel.name},
                  {"precision", to_string(problem.precision)},
                  {"median_ms", times.median_ms},
                  {"spread", times.spread},
                  {"error", error}});
      rows.push_back(row);
      std::printf("%-24s %-24s %-5s %-44s %9.1f us +-%4.1f%% error %.1e\n",
                  work.at("case").get<std::string>().c_str(), work.value("layout", "").c_str(),
                  to_string(problem.dtype), std::string(kernel.name).c_str(), 1e3 * times.median_ms,
                  100 * times.spread, error);
    }
    if (!good)
      std::printf("%s: %s: %s\n", name_of(work).c_str(), std::string(kernel.name).c_str(),
                  status.ok() ? "WRONG" : status.message().c_str());
    std::fflush(stdout);
    cudaFree(workspace);
    return good;
  }

  Options options_;
  cudaStream_t stream_ = nullptr;
};

int run(const Options& options) {
  if (this_machine().cuda_sm == 0) {
    std::fprintf(stderr, "hiss_gpu_time: no NVIDIA GPU here\n");
    return 1;
  }
  std::ifstream file(options.cases);
  if (!file) {
    std::fprintf(stderr, "hiss_gpu_time: cannot read %s\n", options.cases.c_str());
    return 1;
  }
  const json cases = json::parse(file);
  Timer timer(options);
  json rows = json::array();
  bool good = true;
  for (const json& work : cases) {
    if (!std::regex_search(Timer::name_of(work), std::regex(options.filter))) continue;
    const std::string op = work.at("operator");
    if (op == "causal_conv1d") good &= timer.measure_case<CausalConv1d>(work, rows);
    if (op == "causal_conv1d_update") good &= timer.measure_case<CausalConv1dUpdate>(work, rows);
    if (op == "selective_scan") good &= timer.measure_case<SelectiveScan>(work, rows);
    if (op == "ssd_chunk_scan") good &= timer.measure_case<SsdChunkScan>(work, rows);
    if (op == "selective_state_update")
      good &= timer.measure_case<SelectiveStateUpdate>(work, rows);
  }
  if (!options.json_file.empty()) {
    std::ofstream out(options.json_file);
    out << json{{"rows", rows}}.dump(1) << "\n";
    if (!out.flush()) {
      std::fprintf(stderr, "hiss_gpu_time: cannot write %s\n", options.json_file.c_str());
      return 1;
    }
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace hiss::bench

int main(int argc, char** argv) {
  hiss::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--all") {
      options.all = true;
    } else if (arg == "--json" && i + 1 < argc) {
      options.json_file = argv[++i];
    } else if (arg == "--filter" && i + 1 < argc) {
      options.filter = argv[++i];
    } else if (options.cases.empty() && !arg.starts_with("-")) {
      options.cases = arg;
    } else {
      std::fprintf(stderr, "hiss_gpu_time: what is %s?\n", argv[i]);
      return 2;
    }
  }
  if (options.cases.empty()) {
    std::fprintf(stderr,
                 "usage: hiss_gpu_time CASES.json [--json FILE] [--filter REGEX] [--all]\n");
    return 2;
  }
  return hiss::bench::run(options);
}
