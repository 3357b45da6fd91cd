// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "hiss/arena.h"
#include "hiss/context.h"
#include "hiss/tensor.h"

namespace hiss {
namespace {

TEST(Status, SaysCodeAndText) {
  EXPECT_EQ(Status().to_string(), "ok");
  EXPECT_EQ(NotFound("no file x").to_string(), "not found: no file x");
}

TEST(Result, HoldsAValueOrItsError) {
  const Result<int> good = 3;
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 3);
  EXPECT_TRUE(good.error().ok());
  const Result<int> bad = DataLoss("cut short");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), StatusCode::kDataLoss);
}

TEST(TensorView, KnowsItsLayout) {
  float data[24];
  const TensorView dense(data, DType::kF32, {2, 3, 4});
  EXPECT_TRUE(dense.contiguous());
  EXPECT_EQ(dense.elements(), 24);
  EXPECT_EQ(to_string(dense), "F32 [2, 3, 4]");
  const ConstTensorView exchanged(data, DType::kF32, {2, 4, 3}, {12, 1, 4});
  EXPECT_FALSE(exchanged.contiguous());
  EXPECT_EQ(to_string(ConstTensorView()), "absent");
  EXPECT_EQ(ConstTensorView().elements(), 0);
}

TEST(Arena, HandsOutAlignedPieces) {
  Result<Arena> arena = Arena::create(Arena::bytes_for<float>(3) + Arena::bytes_for<char>(70));
  ASSERT_TRUE(arena);
  const auto floats = arena->take<float>(3);
  const auto chars = arena->take<char>(70);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(floats.data()) % Arena::kAlignment, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(chars.data()) % Arena::kAlignment, 0u);
  EXPECT_EQ(chars.size(), 70u);
  arena->reset();
  EXPECT_EQ(static_cast<void*>(arena->take<float>(1).data()), static_cast<void*>(floats.data()));
}

TEST(Arena, SaysWhenMemoryIsOut) {
  const Result<Arena> arena = Arena::create(size_t{1} << 62);
  ASSERT_FALSE(arena);
  EXPECT_EQ(arena.error().code(), StatusCode::kResourceExhausted);
}

class ExecutorTest : public testing::TestWithParam<int> {};

TEST_P(ExecutorTest, RunsEachTaskOnceOnDistinctWorkers) {
  const auto pool = make_thread_pool(GetParam());
  EXPECT_EQ(pool->workers(), GetParam());
  for (int64_t tasks : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> runs(tasks);
    std::vector<std::atomic<int>> busy(GetParam());
    std::atomic<bool> clash = false;
    pool->run(tasks, [&](int64_t i, int worker) {
      if (busy[worker].fetch_add(1) != 0) clash = true;
      runs[i].fetch_add(1);
      busy[worker].fetch_sub(1);
    });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
    EXPECT_FALSE(clash);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ExecutorTest, testing::Values(1, 2, 3, 8));

TEST(Context, RefusesAnUnknownKernel) {
  const auto context = Context::create({.forced = {"selective_scan/abacus"}});
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().code(), StatusCode::kNotFound);
  EXPECT_THAT(context.error().message(), testing::HasSubstr("selective_scan/abacus"));
}

TEST(Context, ScratchIsAlignedAndGrows) {
  auto context = Context::create({.threads = 1});
  ASSERT_TRUE(context);
  ASSERT_TRUE(context->scratch(0));
  const auto some = context->scratch(1000);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->size(), 1000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(some->data()) % 64, 0u);
  const auto too_much = context->scratch(size_t{1} << 62);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace hiss
