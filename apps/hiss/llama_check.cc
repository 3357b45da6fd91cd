// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "commands.h"
#include "exit_code.h"
#include "ggml/check/check.h"
#include "hiss/machine.h"

namespace hiss::app {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  hiss llama-check llama.cpp/build/bin\n"
    "  hiss llama-check /usr/lib/x86_64-linux-gnu --problems 10000 --threads 1\n"
    "  hiss llama-check llama.cpp/build/bin --device CUDA0\n";

struct Options {
  std::string folder, plugin, device = "CPU";
  int threads = 2, problems = 200, runs = 9;
  uint64_t seed = 1;
};

// Beside the program's library once installed, else in the build tree.
std::string find_plugin(const std::string& asked) {
  if (!asked.empty()) return asked;
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = (program.parent_path() / HISS_INSTALLED_PLUGINS / "libggml-hiss.so");
  return fs::is_regular_file(installed, error) ? installed.lexically_normal().string()
                                               : std::string(HISS_BUILT_PLUGIN);
}

int run_llama_check(const Options& options) {
  setenv("HISS_GGML", "min_tokens=1,cuda_min_tokens=1",
         0);  // unless told otherwise: compare all there is
  const auto comparison =
      ggml::Comparison::load(options.folder, find_plugin(options.plugin), options.device);
  if (!comparison)
    return fail(comparison.error(), Subject::kInput,
                "name the folder with libggml.so: a llama.cpp build's bin folder, say");
  fmt::print("ggml {}, {} threads, {}\n", comparison->ggml_version(), options.threads,
             to_string(this_machine()));
  int wrong = 0;
  fmt::print("{:<44} {:>9} {:>9} {:>7} {:>9}\n", "problem", "ggml ms", "hiss ms", "ratio", "NMSE");
  for (const ggml::NodeProblem& problem : ggml::model_problems()) {
    const auto row = comparison->compare(problem, options.threads, options.runs);
    if (!row) return fail(row.error(), Subject::kProgram);
    const bool right = row->left_to_device || row->nmse <= ggml::kNmseLimit;
    wrong += right ? 0 : 1;
    fmt::print("{:<44} ", row->problem);
    if (row->times && row->times->ggml_ms)
      fmt::print("{:>9.3f} {:>9.3f} {:>6.2f}x ", *row->times->ggml_ms, row->times->hiss_ms,
                 *row->times->ggml_ms / row->times->hiss_ms);
    else if (row->times)
      fmt::print("{:>9} {:>9.3f} {:>7} ", "-", row->times->hiss_ms, "-");
    else
      fmt::print("{:>9} {:>9} {:>7} ", "-", "-", "-");
    fmt::print("{:>9.1e}{}\n", row->nmse,
               row->left_to_device ? "  ggml's own"
               : right             ? ""
                                   : "  WRONG");
  }
  std::mt19937_64 random(options.seed);
  double worst = 0;
  int left = 0;
  for (int i = 0; i < options.problems; ++i) {
    const ggml::NodeProblem problem = ggml::random_problem(random);
    const auto row = comparison->compare(problem, options.threads, 0);
    if (!row) return fail(row.error(), Subject::kProgram);
    if (row->left_to_device) {
      ++left;
      continue;
    }
    worst = std::max(worst, row->nmse);
    if (row->nmse <= ggml::kNmseLimit) continue;
    ++wrong;
    fmt::print("{:<44} NMSE {:.1e}  WRONG\n", row->problem, row->nmse);
  }
  fmt::print("{} random problems, worst NMSE {:.1e} (ggml's limit 1e-7, ours {:.0e}); {} wrong\n",
             options.problems - left, worst, ggml::kNmseLimit, wrong);
  if (left > 0) fmt::print("{} more are ggml's own on this device\n", left);
  return wrong == 0 ? kExitOk : kExitFinding;
}

}  // namespace

void add_llama_check_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "llama-check", "Load the plugin beside a llama.cpp and compare the two, answers and times");
  auto options = std::make_shared<Options>();
  command->add_option("FOLDER", options->folder, "The folder with llama.cpp's libggml.so")
      ->required();
  command->add_option("--plugin", options->plugin,
                      "libggml-hiss.so, if not the one of this program");
  command
      ->add_option("--device", options->device,
                   "ggml's device whose nodes hiss computes: CPU, CUDA0")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads ggml works on")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--problems", options->problems, "Random problems to compare")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000000));
  command->add_option("--runs", options->runs, "Timed runs of each model's problem; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  command->add_option("--seed", options->seed, "Of the random problems")->capture_default_str();
  command->footer(std::string(kExamples) + "\n" + exit_code_help());
  command->callback([=, &exit_code] { exit_code = run_llama_check(*options); });
}

}  // namespace hiss::app
