// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "exit_code.h"

#include <gtest/gtest.h>

namespace hiss::app {
namespace {

TEST(ExitCode, FollowsTheSubject) {
  const Status failure = NotFound("x");
  EXPECT_EQ(exit_code(failure, Subject::kArguments), 2);
  EXPECT_EQ(exit_code(failure, Subject::kInput), 3);
  EXPECT_EQ(exit_code(failure, Subject::kOutput), 4);
  EXPECT_EQ(exit_code(failure, Subject::kModel), 5);
  EXPECT_EQ(exit_code(failure, Subject::kProgram), 7);
}

TEST(ExitCode, ResourcesAndCancellationComeBeforeTheSubject) {
  for (const Subject subject : {Subject::kArguments, Subject::kInput, Subject::kOutput,
                                Subject::kModel, Subject::kProgram}) {
    EXPECT_EQ(exit_code({}, subject), 0);
    EXPECT_EQ(exit_code(ResourceExhausted("x"), subject), 6);
    EXPECT_EQ(exit_code(Cancelled("x"), subject), 130);
  }
}

TEST(Fail, PrintsOneLineThatSaysWhatToDo) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(fail(NotFound("no\nsuch\x1b[2J file"), Subject::kInput, "look elsewhere"), 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hiss: no such [2J file; look elsewhere\n");
}

}  // namespace
}  // namespace hiss::app
