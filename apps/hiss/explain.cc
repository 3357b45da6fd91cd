// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "exit_code.h"
#include "field_text.h"
#include "invented_machine.h"
#include "operator_case.h"

namespace hiss::app {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  hiss explain selective_scan batch=81 seqlen=2001 dim=256\n"
    "  hiss explain causal_conv1d dim=256 seqlen=81 layout=channels_first direction=reverse\n"
    "  hiss explain causal_conv1d dim=256 seqlen=81 device=cuda --machine avx2,sm_90\n";

// Fields that are named "key=value"; the others keep their defaults. Without packed sequences there
// are as many sequences as batch rows.
template <class Op>
Status fill(typename Op::Problem& problem, const std::vector<std::string>& settings) {
  bool nseq_given = false;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    std::vector<std::string> keys;
    bool known = false;
    Status status;
    Op::for_each_field(problem, [&](const char* name, auto& value) {
      keys.emplace_back(name);
      if (key != name || equals == setting.npos) return;
      known = true;
      status = parse(std::string_view(setting).substr(equals + 1), value);
    });
    if (!known)
      return InvalidArgument("got \"" + setting + "\", want key=value with a key of " +
                             std::string(Op::kName) + ": " + joined(keys));
    if (!status.ok()) return InvalidArgument(key + ": " + status.message());
    nseq_given = nseq_given || key == "nseq";
  }
  if constexpr (requires { problem.nseq; })
    if (!nseq_given) problem.nseq = problem.packed ? 1 : problem.batch;
  return {};
}

template <class Op>
int explain_operator(const std::vector<std::string>& settings, const Machine& machine) {
  typename Op::Problem problem;
  if (const Status status = fill<Op>(problem, settings); !status.ok())
    return fail(status, Subject::kArguments);
  const Explanation e = explain<Op>(problem, machine);
  fmt::print("{} {}\n", Op::kName, fields_text(problem, Op()));
  fmt::print("on {}\n", to_string(machine));
  fmt::print("runs {}\n", e.chosen.empty() ? "nothing" : e.chosen);
  for (const Explanation::Row& row : e.rows)
    fmt::print("  {:<54} {}\n", row.kernel,
               row.declined.empty() ? "accepts" : "declines: " + std::string(row.declined));
  return kExitOk;
}

int run_explain(const std::string& op, const std::vector<std::string>& settings,
                const std::string& machine_names) {
  const Result<Machine> machine = machine_from(machine_names);
  if (!machine) return fail(machine.error(), Subject::kArguments);
  int code = kExitUsage;
  bool known = false;
  std::vector<std::string> names;
  for_each_operator([&]<class Op>() {
    names.emplace_back(Op::kName);
    if (full_operator_name(op) != Op::kName) return;
    known = true;
    code = explain_operator<Op>(settings, *machine);
  });
  if (known) return code;
  return fail(InvalidArgument("got operator \"" + op + "\", want one of " + joined(names)),
              Subject::kArguments);
}

}  // namespace

void add_explain_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "explain", "Say which kernel a problem gets on a machine, and why the others decline");
  auto op = std::make_shared<std::string>();
  auto settings = std::make_shared<std::vector<std::string>>();
  command->add_option("OPERATOR", *op, "An operator, as 'hiss kernels' lists them")->required();
  command->add_option("key=value", *settings, "Fields of the problem; others keep their defaults");
  auto machine = std::make_shared<std::string>();
  command->add_option("--machine", *machine,
                      "What another machine has, for example avx512,sm_90; default: this one");
  command->footer(std::string(kExamples) + "\n" + exit_code_help());
  command->callback([=, &exit_code] { exit_code = run_explain(*op, *settings, *machine); });
}

}  // namespace hiss::app
