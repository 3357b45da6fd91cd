// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "ggml/check/compare_nodes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ggml/check/check.h"

namespace hiss::ggml {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kUnwritten = BuiltNode::kUnwritten;
const std::vector<float> kReference{1, -2, 3, kUnwritten};

TEST(NodeComparison, TheSameIsZero) { EXPECT_EQ(nmse(kReference, kReference), 0); }

TEST(NodeComparison, ASmallDifferenceIsItsShareOfTheEnergy) {
  EXPECT_NEAR(nmse({1, -2, 3.001f, kUnwritten}, kReference), 1e-6 / 14, 1e-9);
}

TEST(NodeComparison, WrongResultsAreBeyondTheLimit) {
  for (const std::vector<float>& wrong :
       std::vector<std::vector<float>>{{1, 2, 3, kUnwritten},            // a sign
                                       {1, -2, kNan, kUnwritten},        // no number
                                       {0, 0, 0, kUnwritten},            // nothing
                                       {-2, 3, 1, kUnwritten},           // shifted
                                       {1, -2, kUnwritten, kUnwritten},  // not written
                                       {1, -2, 3, 0},  // written where it should not
                                       {1, -2, 3}})
    EXPECT_GT(nmse(wrong, kReference), kNmseLimit);
}

}  // namespace
}  // namespace hiss::ggml
