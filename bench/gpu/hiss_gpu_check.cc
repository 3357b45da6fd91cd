// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Checks every CUDA kernel of the table against the reference on the host, then times it. Needs a
// driver and nothing else. Exits with 1 if a result is wrong, with 2 if the device fails.
//   hiss_gpu_check [--filter REGEX] [--quick] [--check-only] [--time-only] [--small]
//                  [--list] [--json FILE] [--cases FILE]
// With --cases the shapes are those that cases.py printed to the file, and no others are checked.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "law_check.h"
#include "shape_check.h"
#include "shapes.h"
#include "timing.h"

namespace hiss::bench {
namespace {

struct Options {
  std::string filter, json, cases;
  bool quick = false, check_only = false, time_only = false, small = false, list = false;
};

class Check {
 public:
  explicit Check(const Options& options) : options_(options), wanted_(options.filter) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    if (options.cases.empty()) return;
    std::ifstream file(options.cases);
    if (!file) give_up("cannot read the file of cases");
    cases_ = nlohmann::json::parse(file);
  }

  template <class Op>
  void run_cases() {
    const auto all = testing_support::cases<Op>();
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      if (kernel->device != Device::kCuda) continue;
      int ran = 0, wrong = 0, wanted = 0;
      double share = 0;
      std::string worst;
      for (const auto& c : all) {
        if (!matches(kernel->name, c.name)) continue;
        ++wanted;
        const Verdict v = check_case<Op>(*kernel, c, stream_);
        if (!v.ran) continue;
        ++ran;
        if (v.share > share) share = v.share, worst = c.name;
        if (v.wrong.empty()) continue;
        if (++wrong <= 5)
          std::printf("WRONG %s on %s: %s\n", kernel->name.data(), c.name.c_str(), v.wrong.c_str());
      }
      wrong_ += wrong;
      if (wanted > 0)
        std::printf("%-5s %-52s %4d of %zu cases, %d wrong; at most %.1f %% of the bound (%s)\n",
                    wrong == 0 ? "ok" : "WRONG", kernel->name.data(), ran, all.size(), wrong,
                    100 * share, worst.c_str());
      std::fflush(stdout);
    }
  }

  template <class Op>
  void run_laws() {
    constexpr bool kSequence = requires(typename Op::Args a) { a.final_state; }
    || requires(typename Op::Args a) { a.final_states; };
    const auto all = testing_support::cases<Op>();
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      if (kernel->device != Device::kCuda) continue;
      int cuts = 0, broken = 0;
      const auto note = [&](const std::string& name, const std::string& wrong) {
        if (wrong.empty()) return;
        ++wrong_;
        std::printf("WRONG %s on %s: %s\n", kernel->name.data(), name.c_str(), wrong.c_str());
      };
      for (const auto& c : all) {
        if (!matches(kernel->name, c.name)) continue;
        if constexpr (kSequence)
          if (c.name == "base" || c.name == "strict" || c.name == "fast" || c.name == "mirrored" ||
              c.name.find("length_1026") != c.name.npos || c.name.ends_with("channels_first"))
            note(c.name, check_cuts<Op>(*kernel, c, stream_, cuts));
        note(c.name, check_broken_lists<Op>(*kernel, c, stream_, broken));
      }
      std::printf("      %-52s %4d cuts, %d runs with broken lists\n", kernel->name.data(), cuts,
                  broken);
      std::fflush(stdout);
    }
  }

  template <class Op>
  void run_shapes() {
    for (const GpuShape<Op>& shape : shapes<Op>()) {
      for (const Kernel<Op>* kernel : kernels<Op>()) {
        if (kernel->device != Device::kCuda || !matches(kernel->name, shape.name)) continue;
        run_shape(*kernel, shape);
      }
      std::fflush(stdout);
    }
  }

  void list_shapes() {
    for_each_operator([&]<class Op>() {
      for (const GpuShape<Op>& shape : shapes<Op>()) {
        if (!matches(Op::kName, shape.name)) continue;
        DeviceSet set(1);
        const auto problem = Op::describe(shape.make(set));
        std::printf("%s %s", std::string(Op::kName).c_str(), shape.name.c_str());
        Op::for_each_field(problem, [](const char* name, const auto& value) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, int64_t>)
            std::printf(" %s=%lld", name, static_cast<long long>(value));
          else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>)
            std::printf(" %s=%s", name, value ? "true" : "false");
          else
            std::printf(" %s=%s", name, to_string(value));
        });
        std::printf("\n");
      }
    });
  }

  void measure_peaks() {
    constexpr double kLarge = double{1ll << 32};
    peaks_.copied_bytes = 1e6 * kLarge / time_copy(kLarge, stream_, options_.quick).median_us;
    int khz = 0;
    must(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "clock");
    peaks_.issue = 128.0 * this_machine().num_sms * khz * 1e3;
    peaks_.matrix_bf16 = 1024.0 * 4 * this_machine().num_sms * khz * 1e3;
    std::printf("%s: copy %.2f TB/s; %d SMs, at most %.2f GHz\n",
                this_machine().device_name.c_str(), peaks_.copied_bytes / 1e12,
                this_machine().num_sms, khz / 1e6);
  }

  bool write_json() const {
    if (options_.json.empty()) return true;
    std::ofstream file(options_.json);
    file << nlohmann::json{{"machine", to_string(this_machine())},
                           {"copied_bytes_per_s", peaks_.copied_bytes},
                           {"rows", rows_}}
                .dump(1)
         << "\n";
    return file.flush().good();
  }
  int wrong() const { return wrong_; }

 private:
  template <class Op>
  std::vector<GpuShape<Op>> shapes() const {
    return options_.cases.empty() ? gpu_shapes<Op>() : shapes_of_file<Op>(cases_);
  }
  bool matches(std::string_view kernel, const std::string& name) const {
    return std::regex_search(std::string(kernel) + " " + name, wanted_);
  }

  template <class Op>
  void run_shape(const Kernel<Op>& kernel, const GpuShape<Op>& shape) {
    Verdict v;
    typename Op::Problem problem;
    Bound bound;
    double bytes = 0;
    {
      DeviceSet set(1);
      const typename Op::Args args = shape.make(set);
      problem = Op::describe(args);
      bound = bound_of_call<Op>(args, peaks_);
      bytes = bytes_of<Op>(args);
    }
    const Explanation e = explain<Op>(problem, this_machine());
    // Without a filter, rows are timed where they are the choice.
    if (options_.filter.empty() && e.chosen != kernel.name) return;
    if (!kernel.declines(problem, this_machine()).empty()) return;
    if (!options_.time_only) v = check_shape<Op>(kernel, shape.make, 77, stream_);
    wrong_ += !v.wrong.empty();
    const Times t = options_.check_only || !shape.timed
                        ? Times()
                        : time_kernel<Op>(kernel, shape.make, stream_, options_.quick);
    const double copy_us =
        t.median_us > 0 ? time_copy(bytes, stream_, options_.quick).median_us : 0;
    const double share = t.median_us > 0 ? bound.us / t.median_us : 0;
    std::printf(
        "%-5s %-46s %-36s %-4s %-8s %9.2f us +-%4.1f%% bound %9.2f %-6s %5.1f%% err %.1e %s\n",
        v.wrong.empty() ? "ok" : "WRONG", kernel.name.data(), shape.name.c_str(),
        to_string(problem.dtype), to_string(problem.precision), t.median_us, 100 * t.spread,
        bound.us, bound.kind, 100 * share, v.error, v.wrong.c_str());
    rows_.push_back({{"operator", Op::kName},
                     {"kernel", kernel.name},
                     {"chosen", e.chosen == kernel.name},
                     {"case", shape.name},
                     {"dtype", to_string(problem.dtype)},
                     {"precision", to_string(problem.precision)},
                     {"median_us", t.median_us},
                     {"spread", t.spread},
                     {"copy_us", copy_us},
                     {"bound_us", bound.us},
                     {"bound_kind", bound.kind},
                     {"share", share},
                     {"error", v.error},
                     {"wrong", v.wrong}});
    Op::for_each_field(problem, [&](const char* name, const auto& value) {
      if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(value)>>)
        rows_.back()[name] = value;
      else
        rows_.back()[name] = to_string(value);
    });
  }

  const Options options_;
  const std::regex wanted_;
  cudaStream_t stream_ = nullptr;
  Peaks peaks_;
  nlohmann::json cases_, rows_ = nlohmann::json::array();
  int wrong_ = 0;
};

int run(const Options& options) {
  if (this_machine().cuda_sm == 0) give_up("no CUDA device");
  Check check(options);
  if (options.list) {
    check.list_shapes();
    return 0;
  }
  if (!options.small) check.measure_peaks();
  if (!options.time_only && options.cases.empty()) {
    for_each_operator([&]<class Op>() { check.run_cases<Op>(); });
    for_each_operator([&]<class Op>() { check.run_laws<Op>(); });
  }
  if (!options.small) for_each_operator([&]<class Op>() { check.run_shapes<Op>(); });
  if (!check.write_json()) give_up("cannot write the JSON file");
  std::printf("%d wrong\n", check.wrong());
  return check.wrong() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hiss::bench

int main(int argc, char** argv) {
  hiss::bench::Options options;
  CLI::App app("Checks and times the CUDA kernels");
  app.add_option("--filter", options.filter, "Only pairs \"kernel case\" that match");
  app.add_option("--json", options.json, "Write the rows to this file");
  app.add_option("--cases", options.cases, "Shapes of this file, printed by cases.py");
  app.add_flag("--quick", options.quick, "Fewer repetitions");
  app.add_flag("--check-only", options.check_only, "No times");
  app.add_flag("--time-only", options.time_only, "No checks");
  app.add_flag("--small", options.small, "The small cases of the tests alone, as for a sanitizer");
  app.add_flag("--list", options.list, "List the shapes");
  CLI11_PARSE(app, argc, argv);
  return hiss::bench::run(options);
}
