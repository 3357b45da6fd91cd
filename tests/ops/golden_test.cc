// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Every row of every table on the stored cases, whose results an independent implementation
// computed in double precision.

#include <gtest/gtest.h>

#include "../apps/hiss/operator_case.h"
#include "support/run.h"

namespace hiss::testing_support {
namespace {

const io::Safetensors& golden() {
  static const auto file = io::Safetensors::open(HISS_SOURCE_DIR "/tests/golden/ops.safetensors");
  return *file;
}

template <class Op>
void run_case(const Kernel<Op>& kernel, const app::StoredCase& stored, Precision precision) {
  auto loaded = app::OperatorCase<Op>::load(stored, precision);
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  const typename Op::Problem problem = Op::describe(loaded->args());
  if (!kernel.declines(problem, this_machine()).empty()) return;
  ASSERT_TRUE(ok(run_kernel(kernel, loaded->args())));
  for (const auto& output : loaded->outputs()) {
    ASSERT_TRUE(output.expected.present()) << output.stored_name;
    // The file is F32: what its own rounding may add is far below the bound.
    ErrorBound bound = ops::bound_of<Op>(problem, output.tensor, output.got.dtype);
    const ops::Comparison c = ops::compare(output.got, output.expected, bound);
    EXPECT_TRUE(c.within) << output.stored_name << ": " << c.text;
  }
}

TEST(Golden, EveryKernelReproducesTheStoredResults) {
  const auto stored = app::stored_cases(golden());
  ASSERT_TRUE(stored) << stored.error().to_string();
  EXPECT_EQ(stored->size(), 12u);
  for (const app::StoredCase& one : *stored) {
    for_each_operator([&]<class Op>() {
      if (app::full_operator_name(one.op) != Op::kName) return;
      for (const Kernel<Op>* kernel : kernels<Op>()) {
        SCOPED_TRACE(one.name + " with " + std::string(kernel->name));
        run_case(*kernel, one, Precision::kStandard);
        run_case(*kernel, one, Precision::kStrict);
      }
    });
  }
}

// A reference is as good as the file's own rounding.
TEST(Golden, TheReferencesAreExactToTheLastBitsOfTheFile) {
  const auto stored = app::stored_cases(golden());
  ASSERT_TRUE(stored);
  for (const app::StoredCase& one : *stored) {
    for_each_operator([&]<class Op>() {
      if (app::full_operator_name(one.op) != Op::kName) return;
      auto loaded = app::OperatorCase<Op>::load(one, Precision::kStandard);
      ASSERT_TRUE(loaded);
      ASSERT_TRUE(ok(run_kernel(*kernels<Op>().back(), loaded->args())));
      for (const auto& output : loaded->outputs()) {
        const ErrorBound rounding{1e-7, 2e-7, 2e-7};
        const ops::Comparison c = ops::compare(output.got, output.expected, rounding);
        EXPECT_TRUE(c.within) << one.name << " " << output.stored_name << ": " << c.text;
      }
    });
  }
}

}  // namespace
}  // namespace hiss::testing_support
