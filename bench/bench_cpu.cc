// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Times the kernels at the sizes of real models, beside other people's implementations on the same
// inputs, and shows the share of the machine's bound that each reaches: of its multiply-add rate or
// of its copy bandwidth, whichever the work needs longer. A wrong answer, ours or a contender's, is
// an error, not a time.

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "measure.h"
#include "network.h"
#include "pinned_pool.h"

namespace hiss::bench {
namespace {

struct Options {
  std::string filter, json, folder = HISS_SOURCE_DIR "/build/contenders";
  std::vector<int> threads;
  std::vector<std::string> against{"ggml", "torch"};
  bool quick = false, every_kernel = false;
  double budget_ms = 400;
};

std::vector<std::unique_ptr<Contender>> open_contenders(const Options& options) {
  std::vector<std::unique_ptr<Contender>> found;
  for (const std::string& name : options.against) {
    if (name == "none") continue;
    auto contender = name == "ggml" ? open_ggml(options.folder) : open_torch(options.folder);
    if (contender) {
      std::printf("against %s: %s\n", (*contender)->name().c_str(),
                  (*contender)->leaves_out().c_str());
      found.push_back(*std::move(contender));
    } else {
      std::printf("not against %s\n", contender.error().message().c_str());
    }
  }
  std::printf("not against ONNX Runtime: no graph of these operators is published\n");
  return found;
}

int run(const Options& options, int argc, char** argv) {
  processors();              // before anything is pinned
  signal(SIGPIPE, SIG_IGN);  // a contender that has died is an error of the write to it
  const Peaks peaks = measure_peaks();
  const auto contenders = open_contenders(options);
  Header header = make_header(argc, argv, peaks, options.quick);
  for (const int threads : options.threads)
    if (threads > 1) header.together.push_back(measure_peaks_together(*make_pinned_pool(threads)));
  print_heading(header);
  Settings settings{.filter = std::regex(options.filter),
                    .threads = options.threads,
                    .every_kernel = options.every_kernel,
                    .least = options.quick ? 3 : 5,
                    .budget_ms = options.quick ? 20.0 : options.budget_ms};
  Bench bench(settings, peaks, contenders);
  Status status;
  for_each_operator([&]<class Op>() {
    for (const Shape<Op>& shape : shapes<Op>(options.quick))
      if (status.ok()) status = bench.measure(shape);
  });
  std::vector<Row> rows = bench.rows();
  const bool with_torch = std::any_of(contenders.begin(), contenders.end(), [](const auto& c) {
    return c->name().starts_with("PyTorch");
  });
  for (const NetworkShape& shape : network_shapes()) {
    if (!status.ok() || options.quick) break;
    auto network = measure_network(shape, settings, peaks, with_torch ? options.folder : "");
    status = network.error();
    if (network) rows.insert(rows.end(), network->begin(), network->end());
  }
  if (!status.ok()) std::fprintf(stderr, "bench_cpu: %s\n", status.to_string().c_str());
  if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << to_json(header, rows);
    if (!file.flush()) status = Internal("cannot write " + options.json);
  }
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace hiss::bench

int main(int argc, char** argv) {
  hiss::bench::Options options;
  CLI::App app("Times the CPU kernels at the sizes of real models");
  app.add_option("--filter", options.filter,
                 "what matches this expression: kernel, case and precision, blanks between")
      ->check([](const std::string& text) {
        try {
          return std::regex(text), std::string();
        } catch (const std::regex_error& error) {
          return std::string("no regular expression: ") + error.what();
        }
      });
  app.add_option("--threads", options.threads, "threads, several numbers: one after another (1 2)")
      ->check(CLI::Range(1, 256));
  app.add_option("--against", options.against, "contenders: ggml torch, or none")
      ->check(CLI::IsMember({"ggml", "torch", "none"}));
  app.add_flag("--every-kernel", options.every_kernel, "not only the one that a call would get");
  app.add_flag("--quick", options.quick, "smaller batches, shorter measurement");
  app.add_option("--budget", options.budget_ms, "milliseconds of calls of each (400)")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", options.json, "a file for the rows");
  CLI11_PARSE(app, argc, argv);
  if (options.threads.empty())
    for (int n = 1; n <= std::min(2, hiss::this_machine().cores); ++n) options.threads.push_back(n);
  return hiss::bench::run(options, argc, argv);
}
