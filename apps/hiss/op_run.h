// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hiss/context.h"
#include "operator_case.h"

namespace hiss::app {

// What `hiss op` was asked to do.
struct OpOptions {
  std::string file, output, device = "cpu";
  std::vector<std::string> cases;    // "scan/base" or "base"; none: all
  std::vector<std::string> kernels;  // forced, at most one an operator
  bool all_kernels = false, check = false, json = false;
  Precision precision = Precision::kStandard;
  int threads = 0;
};

// One output of one run against what the file has.
struct OutputResult {
  std::string name, shape, text;
  bool checked = false, within = true;
  double relative_rms = 0, bound = 0, max_error = 0, share_of_bound = 0;
};

// One case with one kernel.
struct CaseResult {
  std::string name, kernel, declined;  // declined: why the kernel did not run
  std::vector<OutputResult> outputs;
  bool within() const;
};

// A result, and what it left in the outputs (valid while the runs live).
struct CaseRun {
  CaseResult result;
  std::vector<std::pair<std::string, ConstTensorView>> tensors;  // "op/case/tensor"
  std::shared_ptr<const void> memory;
};

// Runs one case with the kernel that is chosen or forced, or with each row of its table.
// kInvalidArgument and kUnsupported begin with the case's name.
Result<std::vector<CaseRun>> run_case(const StoredCase& stored, const OpOptions& options,
                                      Context& context);

}  // namespace hiss::app
