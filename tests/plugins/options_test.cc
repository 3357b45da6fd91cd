// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "ggml/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hiss::ggml {
namespace {

using testing::HasSubstr;

TEST(PluginOptions, NothingSaidMeansTheDefaults) {
  const Result<Options> o = parse_options("");
  ASSERT_TRUE(o);
  EXPECT_TRUE(o->enabled);
  EXPECT_FALSE(o->log);
  EXPECT_EQ(o->min_tokens, 0);
  EXPECT_EQ(o->precision, Precision::kStandard);
  EXPECT_EQ(o->route, Route::kAuto);
  EXPECT_EQ(o->cuda, CudaRoute::kHook);
  EXPECT_FALSE(o->cuda_min_tokens);
}

TEST(PluginOptions, EachWordSetsItsOption) {
  const Result<Options> o = parse_options("log,min_tokens=64,precision=fast,route=device");
  ASSERT_TRUE(o);
  EXPECT_TRUE(o->log);
  EXPECT_EQ(o->min_tokens, 64);
  EXPECT_EQ(o->precision, Precision::kFast);
  EXPECT_EQ(o->route, Route::kDevice);
  EXPECT_FALSE(parse_options("off")->enabled);
  EXPECT_EQ(parse_options("cuda=device")->cuda, CudaRoute::kDevice);
  EXPECT_EQ(parse_options("cuda=off")->cuda, CudaRoute::kOff);
  EXPECT_EQ(parse_options("cuda_min_tokens=1")->cuda_min_tokens, 1);
}

TEST(PluginOptions, WrongOnesAreRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {"of", "got \"of\"; want off, log"},
      {"off=1", "got \"off=1\""},
      {"log,min_tokens=0", "got \"min_tokens=0\"; want min_tokens=N with N from 1 up"},
      {"min_tokens=8x", "got \"min_tokens=8x\""},
      {"min_tokens=99999999999999999999", "got \"min_tokens=9999"},
      {"precision=high", "want precision=standard, strict or fast"},
      {"route=gpu", "want route=hook or device"},
      {"cuda=on", "got \"cuda=on\"; want cuda=hook, device or off"},
      {"cuda_min_tokens=0", "want cuda_min_tokens=N with N from 1 up"},
      {"log,,off", "got \"\""},
  };
  for (const auto& [text, want] : cases) {
    const Result<Options> o = parse_options(text);
    ASSERT_FALSE(o) << text;
    EXPECT_EQ(o.error().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(o.error().message(), HasSubstr(want));
  }
}

}  // namespace
}  // namespace hiss::ggml
