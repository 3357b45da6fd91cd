// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Times every kernel of the table at the sizes of real models and shows the share of the machine's
// peak that each reaches: of its multiply-add rate or of its copy bandwidth, whichever the work
// needs longer. A result outside the contract's bound is an error, not a time.
// On one thread the clock is the thread's own, which a busy machine disturbs less than the wall's.
//   bench_cpu [--filter REGEX] [--threads N] [--quick] [--reference] [--json FILE]

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "clock.h"
#include "hiss/arena.h"
#include "ops/compare.h"
#include "peaks.h"
#include "shapes.h"

namespace hiss::bench {
namespace {

struct Options {
  std::string filter, json;
  int threads = 1;
  bool quick = false, reference = false;
};

struct Times {
  double median_ms, spread;  // spread: of the middle half, over the median
};

template <class Run>
Times time_runs(Run&& run, const Options& options) {
  std::vector<double> ms;
  const double begin = milliseconds(false);
  while (ms.size() < 9 ||
         (milliseconds(false) - begin < (options.quick ? 100 : 500) && ms.size() < 1000)) {
    const double start = milliseconds(options.threads == 1);
    run();
    ms.push_back(milliseconds(options.threads == 1) - start);
  }
  std::sort(ms.begin(), ms.end());
  const double median = ms[ms.size() / 2];
  return {median, (ms[ms.size() * 3 / 4] - ms[ms.size() / 4]) / median};
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options), pool_(make_thread_pool(options.threads)), peaks_(measure_peaks()) {
    std::printf("%s; one thread: %.0f G multiply-adds/s, copies %.1f GB/s, %.2f G exp/s\n",
                to_string(this_machine()).c_str(), peaks_.multiply_adds / 1e9,
                peaks_.copied_bytes / 1e9, peaks_.exponentials / 1e9);
    std::printf("%-44s %-32s %9s %6s %7s %7s %6s %-7s %s\n", "kernel", "case", "ms", "+-",
                "G upd/s", "GB/s", "share", "of", "error");
  }

  // False: a kernel gave a wrong answer.
  template <class Op>
  bool measure_all() {
    for (Shape<Op> shape : shapes<Op>()) {
      if (options_.quick) shape.batch = std::max<int64_t>(1, shape.batch / 16);
      Tensors tensors;
      typename Op::Args args = shape.make(tensors, shape.batch, shape.seqlen, shape.dim);
      const typename Op::Problem problem = Op::describe(args);
      const TensorView expected = copy_of(args.y);
      bool has_expected = false;
      for (const Kernel<Op>* kernel : kernels<Op>()) {
        const std::string id = std::string(kernel->name) + " " + shape.name;
        if (!std::regex_search(id, std::regex(options_.filter))) continue;
        if (!kernel->declines(problem, this_machine()).empty()) continue;
        const bool is_reference = kernel == kernels<Op>().back();
        if (is_reference && !options_.reference) continue;
        if (!has_expected) {
          typename Op::Args reference = args;
          reference.y = expected;
          if (!run<Op>(*kernels<Op>().back(), reference).ok()) return false;
          has_expected = true;
        }
        if (!measure(*kernel, args, problem, expected, shape.name)) return false;
      }
    }
    return true;
  }

  bool write_json() const {
    if (options_.json.empty()) return true;
    std::ofstream file(options_.json);
    file << rows_.dump(1) << "\n";
    if (!file.flush()) std::fprintf(stderr, "bench_cpu: cannot write %s\n", options_.json.c_str());
    return file.good();
  }

 private:
  TensorView copy_of(TensorView view) {
    results_.emplace_back(static_cast<size_t>(view.elements()));
    const auto strides = view.stride;
    view.data = results_.back().data();
    view.stride = strides;
    return view;
  }

  template <class Op>
  Status run(const Kernel<Op>& kernel, const typename Op::Args& args) {
    HISS_RETURN_IF_ERROR(Op::check(args));
    const typename Op::Problem problem = Op::describe(args);
    const size_t bytes =
        kernel.workspace_bytes ? kernel.workspace_bytes(problem, this_machine()) : 0;
    HISS_ASSIGN_OR_RETURN(Arena arena, Arena::create(bytes));
    return kernel.run(args, {.workspace = arena.take<std::byte>(static_cast<int64_t>(bytes)),
                             .executor = pool_.get()});
  }

  template <class Op>
  bool measure(const Kernel<Op>& kernel, const typename Op::Args& args,
               const typename Op::Problem& problem, const TensorView& expected,
               const std::string& name) {
    Status status = run<Op>(kernel, args);
    const ops::Comparison c = ops::compare(args.y, expected, Op::error_bound(problem));
    if (!status.ok() || !c.within) {
      std::fprintf(stderr, "%s, %s: %s\n", std::string(kernel.name).c_str(), name.c_str(),
                   status.ok() ? c.text.c_str() : status.message().c_str());
      return false;
    }
    const Times times = time_runs([&] { status = run<Op>(kernel, args); }, options_);
    const Work work = work_of(args);
    const double fma_ms = 1e3 * work.multiply_adds / (peaks_.multiply_adds * options_.threads);
    const double copy_ms = 1e3 * work.bytes / peaks_.copied_bytes;
    const bool by_fma = fma_ms > copy_ms;
    const double bound_ms = by_fma ? fma_ms : copy_ms;
    const char* kind = by_fma ? "fma" : "memory";
    std::printf("%-44s %-32s %9.3f %5.1f%% %7.2f %7.2f %5.0f%% %-7s %.1e\n",
                std::string(kernel.name).c_str(), name.c_str(), times.median_ms, 100 * times.spread,
                work.updates / times.median_ms / 1e6, work.bytes / times.median_ms / 1e6,
                100 * bound_ms / times.median_ms, kind, c.relative_rms);
    rows_.push_back({{"operator", Op::kName},
                     {"kernel", kernel.name},
                     {"case", name},
                     {"dtype", to_string(args.y.dtype)},
                     {"precision", to_string(args.precision)},
                     {"threads", options_.threads},
                     {"median_ms", times.median_ms},
                     {"spread", times.spread},
                     {"bound_ms", bound_ms},
                     {"bound_kind", kind},
                     {"error", c.relative_rms}});
    return true;
  }

  const Options options_;
  const std::unique_ptr<Executor> pool_;
  const Peaks peaks_;
  std::deque<std::vector<float>> results_;
  nlohmann::json rows_ = nlohmann::json::array();
};

}  // namespace
}  // namespace hiss::bench

int main(int argc, char** argv) {
  using namespace hiss;
  bench::Options options;
  CLI::App app("Times the CPU kernels at the sizes of real models");
  app.add_option("--filter", options.filter, "kernel and case names that match this expression");
  app.add_option("--threads", options.threads, "threads to run on")->check(CLI::Range(1, 256));
  app.add_flag("--quick", options.quick, "smaller batches, shorter measurement");
  app.add_flag("--reference", options.reference, "the reference kernels, too");
  app.add_option("--json", options.json, "a file for the rows");
  CLI11_PARSE(app, argc, argv);
  bench::Bench bench(options);
  const bool right = bench.measure_all<SelectiveScan>() && bench.measure_all<CausalConv1d>();
  return bench.write_json() && right ? 0 : 1;
}
