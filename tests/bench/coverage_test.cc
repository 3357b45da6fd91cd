// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/coverage.h"

#include <gmock/gmock.h>

#include "hiss/ops/all.h"

namespace hiss::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const int kFunctions[3] = {};

Coverable coverable(const char* name, int64_t bytes, std::set<std::string> traits,
                    std::vector<const void*> functions) {
  return {name, bytes, std::move(traits), std::move(functions)};
}
std::vector<std::string> chosen(std::vector<Coverable> all) {
  std::vector<std::string> names;
  for (const Coverable& c : covering(std::move(all))) names.push_back(c.name);
  return names;
}

TEST(Covering, ACaseThatBringsNothingNewIsLeftOut) {
  EXPECT_THAT(chosen({coverable("a", 1, {"x"}, {}), coverable("b", 2, {"x"}, {}),
                      coverable("c", 3, {"x", "y"}, {})}),
              ElementsAre("a", "c"));
}

TEST(Covering, ASmallCaseIsTakenBeforeALargeOne) {
  EXPECT_THAT(chosen({coverable("large", 9, {"x"}, {}), coverable("small", 1, {"x"}, {})}),
              ElementsAre("small"));
}

TEST(Covering, EveryFunctionIsLaunchedWhateverTheOptions) {
  EXPECT_THAT(chosen({coverable("a", 1, {"x"}, {&kFunctions[0]}),
                      coverable("b", 2, {"x"}, {&kFunctions[0], &kFunctions[1]}),
                      coverable("c", 3, {"x"}, {&kFunctions[1]}),
                      coverable("d", 4, {"x"}, {&kFunctions[2]})}),
              ElementsAre("a", "b", "d"));
}

TEST(Covering, NothingOfNothing) { EXPECT_THAT(chosen({}), IsEmpty()); }

TEST(Traits, OptionsAndOrdersOfSizeDifferAndSizesOfAnOrderDoNot) {
  const auto traits = [](int64_t seqlen, bool has_z) {
    SsdChunkScan::Problem p;
    p.seqlen = seqlen, p.has_z = has_z;
    return traits_of<SsdChunkScan>(p);
  };
  EXPECT_EQ(traits(33, false), traits(47, false));
  EXPECT_NE(traits(33, false), traits(33, true));
  EXPECT_NE(traits(33, false), traits(48, false));  // whole tiles
  EXPECT_NE(traits(33, false), traits(65, false));
}

}  // namespace
}  // namespace hiss::bench
