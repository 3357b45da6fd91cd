// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hiss::app {
namespace {

using testing::HasSubstr;

TEST(ClockText, IsMinutesOrHours) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(59.6), "1:00");
  EXPECT_EQ(clock_text(754), "12:34");
  EXPECT_EQ(clock_text(3723), "1:02:03");
  EXPECT_EQ(clock_text(-3), "0:00");
}

TEST(Progress, SaysNothingInTheFirstTwoSeconds) {
  Progress terminal(true), lines(false);
  EXPECT_EQ(terminal.update(0.9, 1.99), "");
  EXPECT_EQ(lines.update(0.9, 1.99), "");
  EXPECT_EQ(terminal.finish(), "") << "there is no line to clear";
}

TEST(Progress, EstimatesWhatIsLeft) {
  Progress terminal(true), lines(false);
  EXPECT_EQ(terminal.update(0.25, 10), "\r\x1b[K 25 %, 0:30 left");
  EXPECT_EQ(lines.update(0.25, 10), "hiss:  25 %, 0:30 left\n");
}

TEST(Progress, LinesAreFew) {
  Progress lines(false);
  int shown = 0;
  for (int i = 1; i <= 1000; ++i) shown += !lines.update(i / 1000.0, i * 0.1).empty();
  EXPECT_GE(shown, 5);
  EXPECT_LE(shown, 15);
}

TEST(Progress, ALineComesEveryHalfMinuteHoweverSlow) {
  Progress lines(false);
  EXPECT_NE(lines.update(0.001, 10), "");
  EXPECT_EQ(lines.update(0.002, 39), "");
  EXPECT_NE(lines.update(0.003, 41), "");
}

TEST(Progress, TerminalLineIsClearedAtTheEnd) {
  Progress terminal(true);
  EXPECT_NE(terminal.update(0.5, 3), "");
  EXPECT_EQ(terminal.finish(), "\r\x1b[K");
}

TEST(Progress, AHeaderThatPromisedTooLittleIsNotMoreThanAll) {
  Progress terminal(true);
  EXPECT_THAT(terminal.update(1.7, 3), HasSubstr("100 %, 0:00 left"));
}

}  // namespace
}  // namespace hiss::app
