// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "op_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ops/compare.h"

namespace hiss::app {
namespace {

Status in_case(const StoredCase& stored, const Status& status) {
  return {status.code(), stored.name + ": " + status.message()};
}

template <class Op>
OutputResult judge(const typename OperatorCase<Op>::Output& output,
                   const typename Op::Problem& problem, bool check) {
  OutputResult result{.name = output.stored_name, .shape = to_string(output.got), .text = {}};
  if (!check || !output.expected.present()) return result;
  const ErrorBound bound = ops::bound_of<Op>(problem, output.tensor, output.got.dtype);
  const ops::Comparison c = ops::compare(output.got, output.expected, bound);
  result.checked = true;
  result.within = c.within;
  result.relative_rms = c.relative_rms;
  result.bound = bound.relative_rms;
  result.max_error = c.max_error;
  result.share_of_bound = c.ratio;
  result.text = c.text;
  return result;
}

template <class Op>
Result<CaseRun> run_with(const Kernel<Op>& kernel, const StoredCase& stored,
                         const OpOptions& options, Context& context) {
  CaseRun run;
  run.result.name = stored.name;
  run.result.kernel = kernel.name;
  auto loaded = OperatorCase<Op>::load(stored, options.precision);
  if (!loaded) return loaded.error();
  const auto operands = std::make_shared<OperatorCase<Op>>(*std::move(loaded));
  const typename Op::Problem problem = Op::describe(operands->args());
  run.result.declined = kernel.declines(problem, context.machine());
  if (!run.result.declined.empty()) return run;

  const size_t bytes =
      kernel.workspace_bytes ? kernel.workspace_bytes(problem, context.machine()) : 0;
  HISS_ASSIGN_OR_RETURN(const auto workspace, context.scratch(bytes));
  HISS_RETURN_IF_ERROR(
      kernel.run(operands->args(), {.workspace = workspace, .executor = &context.executor()}));
  for (const auto& output : operands->outputs()) {
    run.result.outputs.push_back(judge<Op>(output, problem, options.check));
    run.tensors.emplace_back(stored.name + "/" + output.stored_name, output.got);
  }
  run.memory = operands;
  const bool nothing_checked =
      std::none_of(run.result.outputs.begin(), run.result.outputs.end(),
                   [](const OutputResult& output) { return output.checked; });
  if (options.check && nothing_checked)
    return InvalidArgument("has no stored results to check against");
  return run;
}

template <class Op>
Result<std::vector<CaseRun>> run_operator_case(const StoredCase& stored, const OpOptions& options,
                                               Context& context) {
  std::vector<const Kernel<Op>*> chosen;
  if (options.all_kernels) {
    chosen.assign(kernels<Op>().begin(), kernels<Op>().end());
  } else {
    auto loaded = OperatorCase<Op>::load(stored, options.precision);
    if (!loaded) return loaded.error();
    HISS_ASSIGN_OR_RETURN(
        const Kernel<Op>* kernel,
        select<Op>(Op::describe(loaded->args()), context.machine(), context.forced(Op::kName)));
    chosen.push_back(kernel);
  }
  std::vector<CaseRun> runs;
  for (const Kernel<Op>* kernel : chosen) {
    HISS_ASSIGN_OR_RETURN(CaseRun run, run_with<Op>(*kernel, stored, options, context));
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

bool CaseResult::within() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputResult& output) { return output.within; });
}

Result<std::vector<CaseRun>> run_case(const StoredCase& stored, const OpOptions& options,
                                      Context& context) {
  Result<std::vector<CaseRun>> runs = NotFound("no operator " + stored.op);
  for_each_operator([&]<class Op>() {
    if (full_operator_name(stored.op) == Op::kName)
      runs = run_operator_case<Op>(stored, options, context);
  });
  if (!runs) return in_case(stored, runs.error());
  return runs;
}

}  // namespace hiss::app
