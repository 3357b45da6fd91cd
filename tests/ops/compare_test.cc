// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// A comparator that nobody tested proves nothing: each kind of wrong answer must be refused.

#include "ops/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ops/bound.h"
#include "support/rounded.h"

namespace hiss::ops {
namespace {

using testing::HasSubstr;

class CompareTest : public testing::Test {
 protected:
  static constexpr int kRows = 5, kColumns = 7;
  CompareTest() {
    for (int i = 0; i < kRows * kColumns; ++i) expected_.push_back(std::sin(0.7f * i) - 0.2f);
    result_ = expected_;
  }
  static ConstTensorView view(const std::vector<float>& values) {
    return {values.data(), DType::kF32, {kRows, kColumns}};
  }
  Comparison compared() const { return compare(view(result_), view(expected_), bound_); }

  std::vector<float> expected_, result_;
  const ErrorBound bound_ = promise(30, DType::kF32, Precision::kStandard);
};

TEST_F(CompareTest, AcceptsEqualValues) {
  const Comparison c = compared();
  EXPECT_TRUE(c.within);
  EXPECT_EQ(c.ratio, 0);
}

TEST_F(CompareTest, AcceptsRoundingAndSaysHowMuchOfTheBoundItUsed) {
  for (float& value : result_) value *= 1 + 0x1p-23f;
  const Comparison c = compared();
  EXPECT_TRUE(c.within) << c.text;
  EXPECT_GT(c.ratio, 0.01);
  EXPECT_NEAR(c.relative_rms, 0x1p-23, 0x1p-25);
}

TEST_F(CompareTest, RejectsAWrongValueAndNamesTheWorstPlace) {
  result_[2 * kColumns + 3] += 0.001f;
  result_[4 * kColumns + 1] += 0.01f;
  const Comparison c = compared();
  EXPECT_FALSE(c.within);
  EXPECT_THAT(c.text, HasSubstr("[4, 1]"));
  EXPECT_NEAR(c.max_error, 0.01, 1e-6);
}

TEST_F(CompareTest, RejectsAFlippedSign) {
  result_[9] = -result_[9];
  EXPECT_FALSE(compared().within);
}

TEST_F(CompareTest, RejectsAnErrorBetweenNegativeValues) {
  expected_[0] = -5, result_[0] = -10;
  EXPECT_FALSE(compared().within);
}

TEST_F(CompareTest, RejectsNan) {
  result_[11] = NAN;
  const Comparison c = compared();
  EXPECT_FALSE(c.within);
  EXPECT_THAT(c.text, HasSubstr("at [1, 4]: got nan"));
}

TEST_F(CompareTest, RejectsANumberWhereNanIsExpected) {
  expected_[11] = NAN;
  EXPECT_FALSE(compared().within);
}

TEST_F(CompareTest, RejectsInfAndInfOfTheOtherSign) {
  result_[11] = INFINITY;
  EXPECT_FALSE(compared().within);
  expected_[11] = -INFINITY;
  EXPECT_FALSE(compared().within);
}

TEST_F(CompareTest, AcceptsNanAndInfWhereTheyAreExpected) {
  expected_[11] = result_[11] = NAN;
  expected_[12] = result_[12] = -INFINITY;
  EXPECT_TRUE(compared().within);
}

TEST_F(CompareTest, RejectsAllZeros) {
  for (float& value : result_) value = 0;
  const Comparison c = compared();
  EXPECT_FALSE(c.within);
  EXPECT_DOUBLE_EQ(c.relative_rms, 1);
}

TEST_F(CompareTest, RejectsAnythingButZeroWhereZeroIsExpected) {
  for (float& value : expected_) value = 0;
  for (float& value : result_) value = 0;
  EXPECT_TRUE(compared().within);
  result_[3] = 1e-30f;
  EXPECT_FALSE(compared().within);
}

TEST_F(CompareTest, RejectsAShiftedRow) {
  std::copy(expected_.begin(), expected_.end() - kColumns, result_.begin() + kColumns);
  EXPECT_FALSE(compared().within);
}

TEST_F(CompareTest, RejectsAShapeMismatch) {
  const ConstTensorView turned(result_.data(), DType::kF32, {kColumns, kRows});
  const Comparison c = compare(turned, view(expected_), bound_);
  EXPECT_FALSE(c.within);
  EXPECT_THAT(c.text, HasSubstr("got F32 [7, 5], want F32 [5, 7]"));
  const ConstTensorView deeper(result_.data(), DType::kF32, {kRows, kColumns, 1});
  EXPECT_FALSE(compare(deeper, view(expected_), bound_).within);
}

TEST_F(CompareTest, RejectsManySmallErrorsThatEachPass) {
  for (float& value : result_) value += 6e-6f;
  const Comparison c = compared();
  EXPECT_FALSE(c.within);
  EXPECT_LT(c.max_error, bound_.max_over_rms);
}

TEST_F(CompareTest, ABoundOfZeroWantsTheVeryValue) {
  EXPECT_TRUE(compare(view(result_), view(expected_), {}).within);
  result_[0] = std::nextafter(result_[0], 9.0f);
  EXPECT_FALSE(compare(view(result_), view(expected_), {}).within);
}

TEST_F(CompareTest, FollowsStrides) {
  std::vector<float> turned(expected_.size());
  for (int i = 0; i < kRows; ++i)
    for (int k = 0; k < kColumns; ++k) turned[k * kRows + i] = expected_[i * kColumns + k];
  const ConstTensorView strided(turned.data(), DType::kF32, {kRows, kColumns}, {1, kRows});
  EXPECT_TRUE(compare(strided, view(expected_), {}).within);
}

TEST_F(CompareTest, EmptyTensorsAgree) {
  const ConstTensorView nothing(nullptr, DType::kF32, {0, 7});
  EXPECT_TRUE(compare(nothing, nothing, {}).within);
}

// 1.005 lies between the numbers of BF16 1 and 1 + 2^-7, nearer to the second; 1.003 does not.
TEST(Misrounded, TakesWhatIsNearestAndNothingElse) {
  using testing_support::misrounded;
  const std::vector<float> exact{1.005f, 1.003f};
  const std::vector<uint16_t> nearest{0x3f81, 0x3f80}, cut_off{0x3f80, 0x3f80};
  const ConstTensorView want(exact.data(), DType::kF32, {2});
  EXPECT_EQ(misrounded({nearest.data(), DType::kBF16, {2}}, want), "");
  EXPECT_THAT(misrounded({cut_off.data(), DType::kBF16, {2}}, want), HasSubstr("not rounded"));
}

}  // namespace
}  // namespace hiss::ops
