// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Every row of every table against the reference, on every case; and what the tables promise as
// lists. A new kernel is tested by being listed.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "support/case.h"
#include "support/run.h"

namespace hiss::testing_support {
namespace {

// The reference's answer to a case, kept until another case asks: rows of one case run one after
// another, and the reference takes longer than they do.
template <class Op>
testing::AssertionResult expect(const Case<Op>& problem, const typename Op::Args& args,
                                const Expected<Op>*& answer) {
  static std::string name;
  static std::unique_ptr<Expected<Op>> kept;
  answer = nullptr;
  if (!kept || name != problem.name) {
    kept = std::make_unique<Expected<Op>>(args);
    name = problem.name;
    if (const Status status = kept->run(); !status.ok()) {
      kept.reset();
      return ok(status);
    }
  }
  answer = kept.get();
  return testing::AssertionSuccess();
}

// Case x kernel. Named <op>_<case>.<kernel>.
template <class Op>
class RowTest : public testing::Test {
 public:
  RowTest(const Kernel<Op>* kernel, Case<Op> problem)
      : kernel_(kernel), case_(std::move(problem)) {}

  void TestBody() override {
    TensorSet set(seed_of(case_.name));
    const typename Op::Args args = case_.make(set);
    ASSERT_TRUE(ok(Op::check(args)));
    const Decline declined = kernel_->declines(Op::describe(args), this_machine());
    if (!declined.empty()) GTEST_SKIP() << declined;
    const Expected<Op>* expected;
    ASSERT_TRUE(expect(case_, args, expected));
    ASSERT_TRUE(ok(run_kernel(*kernel_, args)));
    EXPECT_TRUE(outputs_match<Op>(args, expected->args()));
    EXPECT_EQ(set.damage(), "");
  }

 private:
  const Kernel<Op>* kernel_;
  Case<Op> case_;
};

const bool kRegistered = [] {
  for_each_operator([]<class Op>() {
    for (const Case<Op>& problem : cases<Op>()) {
      const std::string suite = std::string(Op::kName) + "_" + problem.name;
      for (const Kernel<Op>* kernel : kernels<Op>()) {
        if (kernel->device != Device::kCpu) continue;  // bench/gpu runs those
        const std::string row = test_name(kernel->name.substr(Op::kName.size() + 1));
        testing::RegisterTest(suite.c_str(), row.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [=]() -> testing::Test* { return new RowTest<Op>(kernel, problem); });
      }
    }
  });
  return true;
}();

// The cases on either device.
template <class Op>
const std::vector<typename Op::Problem>& problems() {
  static const std::vector<typename Op::Problem> all = [] {
    std::vector<typename Op::Problem> described;
    for (const Case<Op>& c : cases<Op>()) {
      TensorSet set(seed_of(c.name));
      typename Op::Args args = c.make(set);
      for (const Device device : {Device::kCpu, Device::kCuda}) {
        args.device = device;
        described.push_back(Op::describe(args));
      }
    }
    return described;
  }();
  return all;
}

// Computers that a kernel may be made for.
std::vector<Machine> invented_machines() {
  std::vector<Machine> machines(1);  // nothing but a core
  for (int level = 1; level <= 5; ++level) {
    Machine x86;
    x86.cores = level;
    x86.sse4 = level >= 1;
    x86.avx2 = level >= 2;
    x86.avx512 = level >= 3;
    x86.avx512_bf16 = level >= 4;
    x86.amx_bf16 = level >= 5;
    machines.push_back(x86);
  }
  Machine arm;
  arm.neon = true;
  machines.push_back(arm);
  for (const int sm : {80, 90}) {
    Machine gpu = machines[3];
    gpu.cuda_sm = sm;
    gpu.num_sms = 132;
    gpu.shared_bytes_per_sm = 228 << 10;
    machines.push_back(gpu);
  }
  return machines;
}

template <class Op>
class Table : public testing::Test {};
using Operators = testing::Types<CausalConv1d, CausalConv1dUpdate, SelectiveScan, SsdChunkScan,
                                 SelectiveStateUpdate>;
class OperatorNames {
 public:
  template <class Op>
  static std::string GetName(int) {
    return std::string(Op::kName);
  }
};
TYPED_TEST_SUITE(Table, Operators, OperatorNames);

TYPED_TEST(Table, NamesAreUniqueAndBeginWithTheOperator) {
  std::set<std::string_view> names;
  for (const auto* kernel : kernels<TypeParam>()) {
    EXPECT_TRUE(names.insert(kernel->name).second) << kernel->name;
    EXPECT_TRUE(kernel->name.starts_with(std::string(TypeParam::kName) + "/")) << kernel->name;
  }
}

TYPED_TEST(Table, NamesOfCasesAreUnique) {
  std::set<std::string> names;
  for (const Case<TypeParam>& c : cases<TypeParam>())
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

TYPED_TEST(Table, EndsWithAReferenceThatTakesEverything) {
  const Kernel<TypeParam>* last = kernels<TypeParam>().back();
  EXPECT_EQ(last->name, std::string(TypeParam::kName) + "/ref");
  for (const auto& problem : problems<TypeParam>())
    EXPECT_EQ(last->declines(problem, Machine()),
              problem.device == Device::kCpu ? Decline() : why::kDevice);
}

// "<op>/cpu.<isa>.<algorithm>" is src/cpu/<op>/<algorithm>.cc, "<op>/cuda.<isa>.<algorithm>" is
// src/cuda/<op>/<algorithm>.cu, "<op>/ref" is src/ref/<op>.cc.
TYPED_TEST(Table, EveryRowIsAFile) {
  const std::filesystem::path source = std::filesystem::path(HISS_SOURCE_DIR) / "src";
  const std::string op(TypeParam::kName);
  for (const auto* kernel : kernels<TypeParam>()) {
    const std::string name(kernel->name.substr(op.size() + 1));
    const size_t first = name.find('.'), second = name.find('.', first + 1);
    std::filesystem::path file = source / "ref" / (op + ".cc");
    if (name.starts_with("cpu."))
      file = source / "cpu" / op / (name.substr(second + 1) + ".cc");
    else if (name.starts_with("cuda."))
      file = source / "cuda" / op / (name.substr(second + 1) + ".cu");
    EXPECT_TRUE(std::filesystem::exists(file)) << kernel->name << " wants " << file;
  }
}

TYPED_TEST(Table, ExplainAndSelectAgreeOnAnyMachine) {
  for (const Machine& machine : invented_machines()) {
    for (const auto& problem : problems<TypeParam>()) {
      const Explanation e = explain<TypeParam>(problem, machine);
      const auto chosen = select<TypeParam>(problem, machine);
      ASSERT_TRUE(chosen || problem.device == Device::kCuda);
      EXPECT_EQ(e.chosen, chosen ? (*chosen)->name : std::string_view());
      ASSERT_EQ(e.rows.size(), kernels<TypeParam>().size());
      for (const Explanation::Row& row : e.rows) {
        const auto forced = select<TypeParam>(problem, machine, row.kernel);
        EXPECT_EQ(forced.has_value(), row.declined.empty()) << row.kernel;
        if (forced) {
          EXPECT_EQ((*forced)->name, row.kernel);
          continue;
        }
        EXPECT_EQ(forced.error().code(), StatusCode::kUnsupported);
        EXPECT_EQ(forced.error().message(),
                  std::string(row.kernel) + " declines: " + std::string(row.declined));
      }
    }
  }
}

TYPED_TEST(Table, AnUnknownKernelIsNotFound) {
  const auto forced = select<TypeParam>({}, Machine(), "selective_scan/abacus");
  ASSERT_FALSE(forced);
  EXPECT_EQ(forced.error().code(), StatusCode::kNotFound);
}

TYPED_TEST(Table, EveryRowIsTheChoiceForSomeCaseOnSomeMachine) {
  std::set<std::string_view> chosen;
  for (const Machine& machine : invented_machines())
    for (const auto& problem : problems<TypeParam>())
      chosen.insert(explain<TypeParam>(problem, machine).chosen);
  for (const auto* kernel : kernels<TypeParam>())
    EXPECT_TRUE(chosen.contains(kernel->name)) << kernel->name;
}

// A row that this machine could run must have run; others are listed, so that a run on the right
// machine knows what it owes.
TYPED_TEST(Table, EveryRowThatThisMachineHasAcceptsSomeCase) {
  for (const auto* kernel : kernels<TypeParam>()) {
    bool accepted = false, missing = false;
    for (const auto& problem : problems<TypeParam>()) {
      if (problem.device != kernel->device) continue;
      const Decline declined = kernel->declines(problem, this_machine());
      accepted = accepted || declined.empty();
      missing = missing || declined == why::kIsa || declined == why::kDevice;
    }
    if (missing) std::printf("not exercised here: %s\n", std::string(kernel->name).c_str());
    EXPECT_TRUE(accepted || missing) << kernel->name;
    EXPECT_FALSE(accepted && missing) << kernel->name << " asks for the machine too late";
  }
}

// What RowTest holds every row to: whatever the shape, a normalised mean square error of 1e-10 in
// the standard and the strict class, 1e-4 in the fast one.
TYPED_TEST(Table, FloatResultsArePromisedToANormalisedMeanSquareErrorOf1e10) {
  for (auto problem : problems<TypeParam>()) {
    if (problem.dtype != DType::kF32) continue;
    if constexpr (requires { problem.state_dtype; })
      if (problem.state_dtype != DType::kF32) continue;
    if constexpr (requires { problem.seqlen; }) problem.seqlen = 1 << 24;
    if constexpr (requires { problem.dstate; }) problem.dstate = 512;
    for (const Precision precision : {Precision::kStandard, Precision::kStrict, Precision::kFast}) {
      problem.precision = precision;
      const double rms = TypeParam::error_bound(problem).relative_rms;
      EXPECT_LE(rms * rms, precision == Precision::kFast ? 1e-4 : 1e-10);
    }
  }
}

}  // namespace
}  // namespace hiss::testing_support
