// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "timer.h"

#include <gmock/gmock.h>

#include <string>

namespace hiss::bench {
namespace {

using testing::HasSubstr;

// Claims the times it was given, one after another.
class Scripted final : public Timed {
 public:
  Scripted(char name, std::string& calls) : name_(name), calls_(calls) {}
  Result<double> milliseconds_of_a_call() override {
    calls_ += name_;
    if (calls_.size() > 40) return Internal("enough");
    return static_cast<double>(++count_);
  }

 private:
  const char name_;
  std::string& calls_;
  int count_ = 0;
};

TEST(Timer, MedianAndSpreadOfTheMiddleHalf) {
  const Times odd = summarize({5, 1, 4, 2, 3});
  EXPECT_EQ(odd.median_ms, 3);
  EXPECT_DOUBLE_EQ(odd.spread, 2.0 / 3);
  EXPECT_EQ(summarize({4, 1, 2, 3}).median_ms, 2.5);
  EXPECT_EQ(summarize({}).samples, 0);
}

TEST(Timer, ContestantsTakeTurns) {
  std::string calls;
  Scripted a('a', calls), b('b', calls);
  const auto times = take_turns({&a, &b}, 3, 0);
  ASSERT_TRUE(times) << times.error().to_string();
  EXPECT_EQ(calls, "ababab");
  EXPECT_EQ((*times)[0].samples, 3);
  EXPECT_EQ((*times)[1].median_ms, 2);
}

TEST(Timer, GoesOnUntilTheBudgetIsSpent) {
  std::string calls;
  Scripted a('a', calls);
  const auto times = take_turns({&a}, 3, 1e9);
  ASSERT_FALSE(times);  // the script's end came first
  EXPECT_EQ(calls.size(), 41u);
}

TEST(Timer, AFailureEndsTheRound) {
  class Broken final : public Timed {
    Result<double> milliseconds_of_a_call() override { return Internal("no more"); }
  } broken;
  const auto times = take_turns({&broken}, 3, 0);
  ASSERT_FALSE(times);
  EXPECT_THAT(times.error().message(), HasSubstr("no more"));
}

TEST(Timer, ShortCallsAreRepeatedLongOnesAreNot) {
  EXPECT_EQ(calls_in_a_sample(1000), 1);
  EXPECT_EQ(calls_in_a_sample(0.5), 10);
  EXPECT_EQ(calls_in_a_sample(0), 2000);
}

}  // namespace
}  // namespace hiss::bench
