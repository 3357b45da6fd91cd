// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "support/tensor_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/element.h"

namespace hiss::testing_support {
namespace {

using testing::HasSubstr;

constexpr Place kAll[] = {Place::kDense,  Place::kChannelsFirst, Place::kWideRow,
                          Place::kSpaced, Place::kFlipped,       Place::kMirrored,
                          Place::kFar,    Place::kBroadcast};

TEST(TensorSet, SameSeedGivesSameValuesWhereverTheyLie) {
  for (const Place place : kAll) {
    if (place == Place::kBroadcast) continue;
    TensorSet a(7), b(7);
    const ConstTensorView dense = a.input(DType::kF32, {2, 3, 4}, normal());
    const ConstTensorView placed = b.input(DType::kF32, {2, 3, 4}, normal(), place);
    for_each_index(dense, [&](const Index& i) {
      EXPECT_EQ(load_element(dense, offset_of(dense, i)),
                load_element(placed, offset_of(placed, i)));
    });
  }
}

TEST(TensorSet, OutputsStartAsNan) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    TensorSet set(1);
    const TensorView y = set.output(dtype, {2, 3}, Place::kSpaced);
    for_each_index(
        y, [&](const Index& i) { EXPECT_TRUE(std::isnan(load_element(y, offset_of(y, i)))); });
  }
}

TEST(TensorSet, WritingOutputsIsNoDamage) {
  for (const Place place : kAll) {
    if (place == Place::kBroadcast) continue;
    TensorSet set(1);
    const TensorView y = set.output(DType::kF32, {2, 3, 4}, place);
    const TensorView u = set.in_place(set.input(DType::kF32, {2, 3, 4}, normal(), place));
    for (const TensorView& view : {y, u})
      for_each_index(view, [&](const Index& i) { store_element(view, offset_of(view, i), 1); });
    EXPECT_EQ(set.damage(), "");
  }
}

TEST(TensorSet, NoticesAChangedInput) {
  TensorSet set(1);
  const ConstTensorView x = set.input(DType::kF32, {3}, normal());
  const_cast<float*>(x.as<float>())[1] += 1;
  EXPECT_THAT(set.damage(), HasSubstr("an input, was changed"));
}

TEST(TensorSet, NoticesAWriteBeforeOrBetweenTheElementsOfAnOutput) {
  TensorSet before(1);
  before.output(DType::kF32, {3}).as<float>()[-1] = 0;
  EXPECT_THAT(before.damage(), HasSubstr("was written, -4 bytes"));
  TensorSet between(1);
  between.output(DType::kF32, {2, 3}, Place::kWideRow).as<float>()[3] = 0;
  EXPECT_THAT(between.damage(), HasSubstr("a byte outside its elements"));
}

TEST(TensorSetDeathTest, ReadingPastTheEndFaults) {
  TensorSet set(1);
  const ConstTensorView x = set.input(DType::kF32, {3}, normal());
  const volatile float* end = x.as<float>() + 3;
  EXPECT_DEATH(static_cast<void>(*end), "");
}

TEST(TensorSet, FarRowsAreBeyond32Bits) {
  TensorSet set(1);
  const ConstTensorView x = set.input(DType::kF32, {2, 3}, normal(), Place::kFar);
  EXPECT_GT(x.stride[0], int64_t{1} << 32);
}

}  // namespace
}  // namespace hiss::testing_support
