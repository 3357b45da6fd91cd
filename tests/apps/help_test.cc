// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "apps/program.h"

namespace hiss {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Ended;
using testing_support::read_file;
using testing_support::run_hiss;

std::set<std::string> long_options(const std::string& text) {
  const std::regex option("--[a-z][a-z-]*");
  return {std::sregex_token_iterator(text.begin(), text.end(), option), {}};
}

TEST(Help, MentionsEveryOptionOfEnhance) {
  const Ended ended = run_hiss({"enhance", "--help"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.err, "");
  const auto options = long_options(ended.out);
  for (const char* option :
       {"--output", "--model", "--chunk-seconds", "--overlap", "--strength", "--precision",
        "--threads", "--kernel", "--report", "--picture", "--reference", "--force", "--quiet",
        "--dump", "--container", "--sample-format", "--help"}) {
    EXPECT_THAT(options, testing::Contains(option));
  }
}

TEST(Help, HasExamplesAndExitCodes) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"enhance", "--help"}}) {
    const Ended ended = run_hiss(arguments);
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_THAT(ended.out, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:"),
                                 HasSubstr("5  the model cannot be used")));
  }
}

// The page and the program tell the same story.
TEST(Help, OptionsAreThoseOfThePage) {
  const std::string page = read_file(HISS_SOURCE_DIR "/docs/hiss-enhance.md");
  auto documented = long_options(page);
  documented.erase("--version");
  EXPECT_EQ(documented, long_options(run_hiss({"enhance", "--help"}).out));
}

TEST(Help, VersionIsOneLine) {
  const Ended ended = run_hiss({"--version"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.out, testing::MatchesRegex("hiss [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Help, NoCommandIsAUsageError) {
  const Ended ended = run_hiss({});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("see hiss --help"));
}

TEST(Help, UnknownCommandIsAUsageError) { EXPECT_EQ(run_hiss({"enhanse", "a.wav"}).exit_code, 2); }

}  // namespace
}  // namespace hiss
