// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "support/temporary_folder.h"

namespace hiss {
namespace {

using nlohmann::json;
using testing_support::read_file;
using testing_support::TemporaryFolder;

// The exit code; -1: a signal ended it.
int run(const std::string& arguments) {
  const std::string line = std::string(HISS_BENCH_PROGRAM) + " " + arguments;
  const int status = std::system((line + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(BenchProgram, RowsHaveEveryFieldWithASensibleValue) {
  const TemporaryFolder folder;
  const std::string path = folder / "rows.json";
  ASSERT_EQ(run("--quick --against none --filter 're_use_one_sequence|granite_4_h_tiny_decode' "
                "--threads 1 --json " +
                path),
            0);
  const json report = json::parse(read_file(path));
  for (const char* field : {"date", "machine", "compiler", "commit", "command"})
    EXPECT_FALSE(report.at(field).get<std::string>().empty()) << field;
  EXPECT_EQ(report.at("date").get<std::string>().size(), 10u);
  EXPECT_TRUE(report.at("quick").get<bool>());
  EXPECT_GT(report.at("peaks").at("multiply_adds_a_second").get<double>(), 0);

  std::set<std::string> operators;
  for (const json& row : report.at("rows")) {
    EXPECT_EQ(row.size(), 18u) << row;
    operators.insert(row.at("operator").get<std::string>());
    EXPECT_TRUE(
        row.at("kernel").get<std::string>().starts_with(row.at("operator").get<std::string>()))
        << row;
    EXPECT_FALSE(row.at("case").get<std::string>().empty()) << row;
    EXPECT_EQ(row.at("dtype"), "F32");
    EXPECT_TRUE(row.at("precision") == "standard" || row.at("precision") == "fast") << row;
    EXPECT_EQ(row.at("threads"), 1);
    EXPECT_GT(row.at("median_ms").get<double>(), 0) << row;
    EXPECT_GE(row.at("spread").get<double>(), 0) << row;
    EXPECT_GE(row.at("samples").get<int>(), 3) << row;
    EXPECT_GT(row.at("bound_ms").get<double>(), 0) << row;
    EXPECT_TRUE((std::set<json>{"fma", "bf16", "memory"}.contains(row.at("bound_kind")))) << row;
    for (const char* field : {"peer", "peer_median_ms", "ratio", "apart_ms"})
      EXPECT_TRUE(row.at(field).is_null()) << row;
    const auto error = row.at("error").get<double>();
    EXPECT_TRUE(error > 0 && error < 1e-2) << row;
  }
  EXPECT_EQ(operators, (std::set<std::string>{"causal_conv1d", "causal_conv1d_update",
                                              "selective_scan", "selective_state_update"}));
}

TEST(BenchProgram, SeveralThreadsAreComparedWithAsManyThatShareNothing) {
  const TemporaryFolder folder;
  const std::string path = folder / "rows.json";
  ASSERT_EQ(run("--quick --against none --filter 'granite_4_h_tiny_decode standard' --threads 2 "
                "--json " +
                path),
            0);
  const json report = json::parse(read_file(path));
  ASSERT_EQ(report.at("together").size(), 1u);
  EXPECT_EQ(report.at("together")[0].at("threads"), 2);
  for (const char* rate : {"multiply_adds_a_second", "copied_bytes_a_second"})
    EXPECT_GT(report.at("together")[0].at(rate).get<double>(), 0) << rate;
  EXPECT_FALSE(report.at("rows").empty());
  for (const json& row : report.at("rows")) EXPECT_GT(row.at("apart_ms").get<double>(), 0) << row;
}

TEST(BenchProgram, AnUnknownContenderIsAnError) { EXPECT_GT(run("--against mkl"), 0); }

TEST(BenchProgram, AFilterThatIsNoExpressionIsAnError) { EXPECT_GT(run("--filter '('"), 0); }

TEST(BenchProgram, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(run("--quick --against none --filter nothing --json /nowhere/rows.json"), 1);
}

}  // namespace
}  // namespace hiss
