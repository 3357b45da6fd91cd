// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "exit_code.h"
#include "op_run.h"

namespace hiss::app {
namespace {

constexpr char kDescription[] =
    "Run operator cases stored in a safetensors file (keys operator/case/tensor), and with --check "
    "compare with the results stored beside them. One line for each case and kernel. Attach such a "
    "file to a bug report. docs/hiss-op.md describes the format.";

constexpr char kExamples[] =
    "Examples:\n"
    "  hiss op cases.safetensors --check\n"
    "  hiss op cases.safetensors --case scan/base --all-kernels --check\n"
    "  hiss op cases.safetensors --kernel selective_scan/ref -o results.safetensors\n";

const std::map<std::string, Precision> kPrecisions = {
    {"standard", Precision::kStandard}, {"strict", Precision::kStrict}, {"fast", Precision::kFast}};

// "base" names scan/base and conv/base, "scan/base" and "selective_scan/base" the first alone.
bool is_named(const StoredCase& stored, const std::string& name) {
  const std::string case_name = stored.name.substr(stored.op.size() + 1);
  return name == case_name || name == stored.name ||
         name == std::string(full_operator_name(stored.op)) + "/" + case_name;
}

Status keep_named(std::vector<StoredCase>& all, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::vector<std::string> there;
  for (const StoredCase& stored : all) there.push_back(stored.name);
  for (const std::string& name : names)
    if (std::none_of(all.begin(), all.end(), [&](const auto& c) { return is_named(c, name); }))
      return NotFound("--case " + name + ": the file has " + joined(there));
  std::erase_if(all, [&](const StoredCase& stored) {
    return std::none_of(names.begin(), names.end(),
                        [&](const std::string& name) { return is_named(stored, name); });
  });
  return {};
}

void print_line(const CaseResult& r, bool check) {
  const auto line = [&](std::string_view verdict, const std::string& text) {
    fmt::print("{:<5} {:<24} {:<44} {}\n", verdict, r.name, r.kernel, text);
  };
  if (!r.declined.empty()) return line("skip", "declines: " + r.declined);
  if (!check) {
    std::vector<std::string> made;
    for (const OutputResult& output : r.outputs) made.push_back(output.name + " " + output.shape);
    return line("ran", joined(made));
  }
  const auto worst = std::max_element(
      r.outputs.begin(), r.outputs.end(),
      [](const auto& a, const auto& b) { return a.share_of_bound < b.share_of_bound; });
  if (r.within())
    return line(
        "ok",
        fmt::format("worst {:.1f} % of the bound: {} relative rms {:.2g}, bound {:.2g}",
                    100 * worst->share_of_bound, worst->name, worst->relative_rms, worst->bound));
  line("FAIL", worst->name + ": " + worst->text);
}

nlohmann::json to_json(const CaseResult& r) {
  nlohmann::json outputs = nlohmann::json::array();
  for (const OutputResult& output : r.outputs) {
    nlohmann::json one = {{"tensor", output.name}, {"shape", output.shape}};
    if (output.checked)
      one.update({{"within", output.within},
                  {"relative_rms", output.relative_rms},
                  {"bound", output.bound},
                  {"max_error", output.max_error},
                  {"share_of_bound", output.share_of_bound},
                  {"text", output.text}});
    outputs.push_back(one);
  }
  nlohmann::json result = {{"case", r.name}, {"kernel", r.kernel}, {"within", r.within()}};
  result["outputs"] = outputs;
  if (!r.declined.empty()) result["declined"] = r.declined;
  return result;
}

// The cases that ran, with the outputs this run gave in place of those the file had.
Status write_results(const OpOptions& options, const io::Safetensors& file,
                     const std::vector<StoredCase>& cases, const std::vector<CaseRun>& runs) {
  std::map<std::string, ConstTensorView> tensors;
  std::map<std::string, std::string> metadata;
  for (const StoredCase& stored : cases) {
    for (const auto& [name, view] : stored.tensors) tensors[stored.name + "/" + name] = view;
    for (const auto& [name, value] : stored.options) metadata[stored.name + "/" + name] = value;
  }
  if (const auto layout = file.metadata().find("layout"); layout != file.metadata().end())
    metadata["layout"] = layout->second;
  for (const CaseRun& run : runs) {
    for (const auto& [name, view] : run.tensors) tensors[name] = view;
    metadata["kernels"] += run.result.name + "=" + run.result.kernel + ";";
  }
  return io::write_safetensors(options.output, tensors, metadata);
}

int run_op(const OpOptions& options) {
  const auto file = io::Safetensors::open(options.file);
  if (!file) return fail(file.error(), Subject::kInput, "give a file of operator cases");
  auto cases = stored_cases(*file);
  if (!cases)
    return fail(DataLoss(options.file + ": " + cases.error().message()), Subject::kInput,
                "docs/hiss-op.md describes the format");
  if (const Status status = keep_named(*cases, options.cases); !status.ok())
    return fail(status, Subject::kArguments);
  auto context = Context::create({.threads = options.threads, .forced = options.kernels});
  if (!context)
    return fail(context.error(), Subject::kArguments, "'hiss kernels' lists the kernels");

  std::vector<CaseRun> runs;
  for (const StoredCase& stored : *cases) {
    auto done = run_case(stored, options, *context);
    if (!done) {
      const bool kernel = done.error().code() == StatusCode::kUnsupported;
      return fail(done.error(), kernel ? Subject::kArguments : Subject::kInput,
                  kernel ? "leave --kernel out to let hiss choose"
                         : "docs/hiss-op.md describes the format");
    }
    for (CaseRun& run : *done) {
      if (!options.json) print_line(run.result, options.check);
      runs.push_back(std::move(run));
    }
  }
  if (!options.output.empty()) {
    const Status written = write_results(options, *file, *cases, runs);
    if (!written.ok()) return fail(written, Subject::kOutput);
  }
  const auto failed = std::count_if(runs.begin(), runs.end(),
                                    [](const CaseRun& run) { return !run.result.within(); });
  if (options.json) {
    nlohmann::json report = {{"file", options.file},
                             {"machine", to_string(context->machine())},
                             {"precision", to_string(options.precision)},
                             {"checked", options.check},
                             {"failed", failed},
                             {"results", nlohmann::json::array()}};
    for (const CaseRun& run : runs) report["results"].push_back(to_json(run.result));
    fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return failed > 0 ? kExitFinding : kExitOk;
}

}  // namespace

void add_op_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("op", kDescription);
  auto options = std::make_shared<OpOptions>();
  command->footer(std::string(kExamples) + "\n" + exit_code_help());
  command->add_option("CASES", options->file, "Safetensors file of operator cases")->required();
  command
      ->add_option("--case", options->cases,
                   "Only this case, by name (scan/base, or base); may be repeated")
      ->allow_extra_args(false);
  auto* kernel =
      command
          ->add_option("--kernel", options->kernels,
                       "Force a kernel by its full name; may be repeated, once for each operator")
          ->allow_extra_args(false);
  auto* all = command->add_flag("--all-kernels", options->all_kernels,
                                "Run each case with every kernel that accepts it");
  all->excludes(kernel);
  command->add_option("--precision", options->precision, "standard, strict or fast")
      ->transform(CLI::CheckedTransformer(kPrecisions))
      ->option_text("CLASS [standard]");
  command->add_option("--device", options->device, "Where to run: cpu")
      ->check(CLI::IsMember({"cpu"}))
      ->option_text("DEVICE [cpu]");
  command->add_option("--threads", options->threads, "Threads to use; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      ->add_option("-o,--output", options->output,
                   "Write the cases with the outputs of this run, replacing the file if it exists")
      ->excludes(all);
  command->add_flag("--check", options->check,
                    "Compare with the stored results; exit code 1 if a bound is exceeded");
  command->add_flag("--json", options->json, "Print one JSON document instead of lines");
  command->callback([options, &exit_code] { exit_code = run_op(*options); });
}

}  // namespace hiss::app
