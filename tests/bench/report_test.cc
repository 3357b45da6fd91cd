// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hiss::bench {
namespace {

Row row() {
  return {.op = "selective_scan",
          .kernel = "selective_scan/ref",
          .name = "tiny",
          .dtype = "F32",
          .precision = "standard",
          .threads = 2,
          .times = {.median_ms = 4, .spread = 0.1},
          .bound_ms = 1,
          .bound_kind = "fma",
          .error = 1e-7};
}

TEST(Report, ARowWithoutAContenderHasNulls) {
  const auto json = nlohmann::json::parse(to_json({.command = "c"}, {row()}));
  EXPECT_EQ(json["command"], "c");
  const auto& r = json["rows"][0];
  EXPECT_TRUE(r["peer"].is_null() && r["peer_median_ms"].is_null() && r["ratio"].is_null()) << r;
  EXPECT_EQ(r["threads"], 2);
}

TEST(Report, TheRatioIsTheContendersTimeOverOurs) {
  Row with_peer = row();
  with_peer.peer = "ggml", with_peer.peer_median_ms = 10;
  const auto json = nlohmann::json::parse(to_json({}, {row(), with_peer}));
  EXPECT_EQ(json["rows"][1]["ratio"], 2.5);
  EXPECT_EQ(json["rows"][1]["peer"], "ggml");
}

TEST(Report, NoRowsAreAnEmptyList) {
  EXPECT_TRUE(nlohmann::json::parse(to_json({}, {}))["rows"].empty());
}

}  // namespace
}  // namespace hiss::bench
