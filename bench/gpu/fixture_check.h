// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "../../apps/hiss/operator_case.h"
#include "case_check.h"

// The kernels on stored cases, whose results an independent implementation computed.
namespace hiss::bench {

// Empty, or what was wrong. `ran` counts.
template <class Op>
std::string check_fixture(const Kernel<Op>& kernel, const app::StoredCase& stored,
                          Precision precision, cudaStream_t stream, int& ran) {
  const auto loaded = app::OperatorCase<Op>::load(stored, precision);
  if (!loaded) return loaded.error().message();
  DeviceSet set(1);
  const Mirror<Op> mirror(loaded->args(), set);
  const typename Op::Problem problem = Op::describe(mirror.args());
  if (!kernel.declines(problem, this_machine()).empty()) return "";
  ++ran;
  if (const Status status = DeviceRun<Op>(kernel, mirror.args(), set).launch(stream); !status.ok())
    return status.message();
  must(cudaStreamSynchronize(stream), "run");
  mirror.bring_back(Mirror<Op>::Back::kOutputs);
  for (const auto& output : loaded->outputs()) {
    if (!output.expected.present()) return output.stored_name + ": not in the file";
    const auto c = ops::compare(output.got, output.expected,
                                ops::bound_of<Op>(problem, output.tensor, output.got.dtype));
    if (!c.within) return output.stored_name + ": " + c.text;
  }
  return "";
}

}  // namespace hiss::bench
