// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "exit_code.h"
#include "hiss/ops/all.h"
#include "invented_machine.h"

namespace hiss::app {
namespace {

struct Row {
  std::string_view op, kernel;
  Decline missing;  // what this machine lacks for it
};

std::vector<Row> rows(const Machine& machine) {
  std::vector<Row> all;
  for_each_operator([&]<class Op>() {
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      typename Op::Problem problem;
      problem.device = kernel->device;
      const Decline declined = kernel->declines(problem, machine);
      const bool missing = declined == why::kIsa || declined == why::kDevice;
      all.push_back({Op::kName, kernel->name, missing ? declined : Decline()});
    }
  });
  return all;
}

// "cpu.avx2.lanes_over_dim" as backend, instruction set and algorithm; "ref" has the first alone.
struct Parts {
  std::string backend, isa = "any", algorithm = "plain loops in double";
};
Parts parts_of(const Row& row) {
  const std::string name(row.kernel.substr(row.op.size() + 1));
  const size_t first = name.find('.'), second = name.find('.', first + 1);
  if (first == name.npos) return {.backend = "reference"};
  return {name.substr(0, first), name.substr(first + 1, second - first - 1),
          name.substr(second + 1)};
}

void print_markdown(const Machine& machine) {
  fmt::print("| operator | kernel | runs on | instruction set | algorithm |\n");
  fmt::print("| --- | --- | --- | --- | --- |\n");
  for (const Row& row : rows(machine)) {
    const Parts p = parts_of(row);
    fmt::print("| `{}` | `{}` | {} | {} | {} |\n", row.op, row.kernel, p.backend, p.isa,
               p.algorithm);
  }
}

void print_json(const Machine& machine) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row& row : rows(machine))
    list.push_back({{"operator", row.op},
                    {"kernel", row.kernel},
                    {"available", row.missing.empty()},
                    {"missing", row.missing}});
  const nlohmann::json report = {{"machine", to_string(machine)}, {"kernels", list}};
  fmt::print("{}\n", report.dump(2));
}

void print_lines(const Machine& machine) {
  fmt::print("{}\n", to_string(machine));
  std::string_view op;
  for (const Row& row : rows(machine)) {
    if (row.op != op) fmt::print("\n{}, best first:\n", row.op);
    op = row.op;
    fmt::print("  {:<54} {}\n", row.kernel, row.missing.empty() ? "runs here" : row.missing);
  }
}

}  // namespace

void add_kernels_command(CLI::App& app, int& exit_code) {
  struct Options {
    bool markdown = false, json = false;
    std::string machine;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("kernels", "List every kernel, and whether this machine can run it");
  auto* markdown =
      command->add_flag("--markdown", options->markdown, "The table of docs/kernels.md");
  command->add_flag("--json", options->json, "One JSON document")->excludes(markdown);
  command->add_option("--machine", options->machine,
                      "What another machine has, for example avx512,sm_90; default: this one");
  command->footer(exit_code_help());
  command->callback([options, &exit_code] {
    const Result<Machine> machine = machine_from(options->machine);
    if (!machine) {
      exit_code = fail(machine.error(), Subject::kArguments);
      return;
    }
    if (options->markdown)
      print_markdown(*machine);
    else if (options->json)
      print_json(*machine);
    else
      print_lines(*machine);
    exit_code = kExitOk;
  });
}

}  // namespace hiss::app
