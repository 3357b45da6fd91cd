// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Checks every CUDA kernel of the table against the reference on the host, then times it. Needs a
// driver and nothing else. Exits with 1 if a result is wrong, with 2 if the device fails.
//   hiss_gpu_check [--filter REGEX] [--quick] [--check-only] [--time-only] [--small]
//                  [--large] [--list] [--json FILE] [--cases FILE] [--cover FILE] [--pairs FILE]
//                  [--fixtures FILE] [--seed N] [--rows]
// With --cases the shapes are those that cases.py printed to the file, and no others are checked.
// --cover writes the few pairs of kernel and case that stand for all; with --pairs only those of
// such a file run, each once, as for a sanitizer.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "fixture_check.h"
#include "law_check.h"
#include "shape_check.h"
#include "shapes.h"
#include "timing.h"

namespace hiss::bench {
namespace {

struct Options {
  std::string filter, json, cases, cover, pairs, fixtures;
  uint64_t seed = 0;
  bool quick = false, check_only = false, time_only = false, small = false, list = false;
  bool large = false, rows = false;
};

nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) give_up(("cannot read " + path).c_str());
  return nlohmann::json::parse(file);
}
void write_json(const std::string& path, const nlohmann::json& value) {
  std::ofstream file(path);
  file << value.dump(1) << "\n";
  if (!file.flush().good()) give_up(("cannot write " + path).c_str());
}

class Check {
 public:
  explicit Check(const Options& options) : options_(options), wanted_(options.filter) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    if (!options.cases.empty()) cases_ = read_json(options.cases);
    if (options.pairs.empty()) return;
    for (const auto& pair : read_json(options.pairs))
      pairs_.emplace(pair.at("kernel").get<std::string>(), pair.at("case").get<std::string>());
  }

  template <class Op>
  void run_cases() {
    const auto all = testing_support::cases<Op>();
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      if (kernel->device != Device::kCuda) continue;
      int ran = 0, wrong = 0, wanted = 0;
      double share = 0;
      std::string worst;
      std::vector<Coverable> covers;
      for (const auto& c : all) {
        if (!matches(kernel->name, c.name)) continue;
        ++wanted;
        Verdict v = check_case<Op>(*kernel, c, seed_of(c), stream_,
                                   options_.pairs.empty() ? Runs::kTwice : Runs::kOnce, reach());
        if (!v.ran) continue;
        ++ran;
        covers.push_back(std::move(v.covers));
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
      for (const Coverable& c : covering(std::move(covers)))
        cover_.push_back(
            {{"kernel", kernel->name}, {"case", c.name}, {"shared_memory", c.shared_memory}});
    }
  }

  // Stored cases in the two classes that they are exact enough for.
  void run_fixtures() {
    const auto file = io::Safetensors::open(options_.fixtures);
    if (!file) give_up(file.error().message().c_str());
    const auto stored = app::stored_cases(*file);
    if (!stored) give_up(stored.error().message().c_str());
    for_each_operator([&]<class Op>() {
      for (const Kernel<Op>* kernel : kernels<Op>()) {
        if (kernel->device != Device::kCuda) continue;
        int ran = 0;
        for (const app::StoredCase& one : *stored) {
          if (app::full_operator_name(one.op) != Op::kName || !matches(kernel->name, one.name))
            continue;
          for (const Precision precision : {Precision::kStandard, Precision::kStrict})
            note_wrong(kernel->name, one.name,
                       check_fixture<Op>(*kernel, one, precision, stream_, ran));
        }
        std::printf("      %-52s %4d fixtures\n", kernel->name.data(), ran);
      }
    });
    std::fflush(stdout);
  }

  template <class Op>
  void run_laws() {
    constexpr bool kSequence = requires(typename Op::Args a) { a.final_state; }
    || requires(typename Op::Args a) { a.final_states; };
    const auto all = testing_support::cases<Op>();
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      if (kernel->device != Device::kCuda) continue;
      int cuts = 0, broken = 0;
      for (const auto& c : all) {
        if (!matches(kernel->name, c.name)) continue;
        if constexpr (kSequence)
          if (c.name == "base" || c.name == "strict" || c.name == "fast" || c.name == "mirrored" ||
              c.name.find("length_1026") != c.name.npos || c.name.ends_with("channels_first"))
            note_wrong(kernel->name, c.name,
                       check_cuts<Op>(*kernel, c, seed_of(c), reach(), stream_, cuts));
        note_wrong(kernel->name, c.name,
                   check_broken_lists<Op>(*kernel, c, seed_of(c), reach(), stream_, broken));
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

  void write() const {
    if (!options_.cover.empty()) write_json(options_.cover, cover_);
    if (options_.json.empty()) return;
    write_json(options_.json, {{"machine", to_string(this_machine())},
                               {"copied_bytes_per_s", peaks_.copied_bytes},
                               {"rows", rows_}});
  }
  int wrong() const { return wrong_; }

 private:
  template <class Op>
  std::vector<GpuShape<Op>> shapes() const {
    return options_.cases.empty() ? gpu_shapes<Op>() : shapes_of_file<Op>(cases_);
  }
  bool matches(std::string_view kernel, const std::string& name) const {
    if (!options_.pairs.empty()) return pairs_.contains({std::string(kernel), name});
    return std::regex_search(std::string(kernel) + " " + name, wanted_);
  }

  template <class Op>
  uint64_t seed_of(const Case<Op>& c) const {
    return testing_support::seed_of(c.name) + options_.seed;
  }
  Reach reach() const {
    return options_.small ? Reach::kNear : options_.large ? Reach::kFar : Reach::kAny;
  }
  void note_wrong(std::string_view kernel, const std::string& name, const std::string& wrong) {
    if (wrong.empty()) return;
    ++wrong_;
    std::printf("WRONG %s on %s: %s\n", kernel.data(), name.c_str(), wrong.c_str());
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
    if (!options_.time_only) v = check_shape<Op>(kernel, shape.make, options_.seed + 77, stream_);
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
                     {"direct_us", t.direct_us},
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
  nlohmann::json cases_, rows_ = nlohmann::json::array(), cover_ = nlohmann::json::array();
  std::set<std::pair<std::string, std::string>> pairs_;
  int wrong_ = 0;
};

int run(const Options& options) {
  if (options.rows) {
    for_each_operator([&]<class Op>() {
      for (const Kernel<Op>* kernel : kernels<Op>())
        if (kernel->device == Device::kCuda) std::printf("%s\n", kernel->name.data());
    });
    return 0;
  }
  if (this_machine().cuda_sm == 0) give_up("no CUDA device");
  Check check(options);
  if (options.list) {
    check.list_shapes();
    return 0;
  }
  const bool small = options.small || !options.pairs.empty();
  if (!small) check.measure_peaks();
  if (!options.time_only && options.cases.empty()) {
    for_each_operator([&]<class Op>() { check.run_cases<Op>(); });
    for_each_operator([&]<class Op>() { check.run_laws<Op>(); });
  }
  if (!options.fixtures.empty()) check.run_fixtures();
  if (!small) for_each_operator([&]<class Op>() { check.run_shapes<Op>(); });
  check.write();
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
  app.add_option("--cover", options.cover, "Write the few pairs that stand for all cases here");
  app.add_option("--pairs", options.pairs, "Only the pairs of this file, each once");
  app.add_option("--fixtures", options.fixtures, "Stored cases with their results, too");
  app.add_option("--seed", options.seed, "Of the random inputs");
  app.add_flag("--small", options.small,
               "Cases of the tests that reach no further than 1 GiB, alone");
  app.add_flag("--large", options.large,
               "The other cases, and the shapes of models and large indices");
  app.add_flag("--rows", options.rows, "List the CUDA rows");
  app.add_flag("--list", options.list, "List the shapes");
  CLI11_PARSE(app, argc, argv);
  return hiss::bench::run(options);
}
