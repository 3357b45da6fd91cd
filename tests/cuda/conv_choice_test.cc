// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Which convolution a problem on a device gets, and what the others say.

#include <gtest/gtest.h>

#include "hiss/ops/all.h"

namespace hiss {
namespace {

constexpr std::string_view kOverDim = "causal_conv1d/cuda.sm80.lanes_over_dim";
constexpr std::string_view kOverTime = "causal_conv1d/cuda.sm80.lanes_over_time";
constexpr std::string_view kAnyView = "causal_conv1d/cuda.sm80.any_view";

class CudaConvChoice : public testing::Test {
 protected:
  void SetUp() override {
    if (HISS_EXPECT_CUDA == 0) GTEST_SKIP() << "no CUDA rows in this build";
    problem_ = {.seqlen = 2048, .dim = 256, .device = Device::kCuda};
    machine_.cuda_sm = 90;
  }
  std::string_view chosen() const { return explain<CausalConv1d>(problem_, machine_).chosen; }
  Decline answer_of(std::string_view kernel) const {
    for (const auto& row : explain<CausalConv1d>(problem_, machine_).rows)
      if (row.kernel == kernel) return row.declined;
    return "no such row";
  }
  CausalConv1d::Problem problem_;
  Machine machine_;
};

TEST_F(CudaConvChoice, ChannelsLastIsWalkedOverTime) {
  for (const int sm : {80, 86, 90, 100}) {
    machine_.cuda_sm = sm;
    EXPECT_EQ(chosen(), kOverDim);
  }
  problem_.packed = true;
  problem_.direction = Direction::kReverse;
  EXPECT_EQ(chosen(), kOverDim);
  EXPECT_EQ(answer_of(kOverTime), why::kLayout);
}

TEST_F(CudaConvChoice, ChannelsFirstIsForLanesOverTimeWhateverTheLength) {
  problem_.layout = Layout::kChannelsFirst;
  for (const int64_t seqlen : {0, 2, 81, 512, 65536}) {
    problem_.seqlen = seqlen;
    problem_.packed = seqlen == 81;
    EXPECT_EQ(chosen(), kOverTime) << seqlen;
  }
  EXPECT_EQ(answer_of(kOverDim), why::kLayout);
}

TEST_F(CudaConvChoice, AnyViewTakesWhatTheOthersDecline) {
  problem_.layout = Layout::kStrided;
  EXPECT_EQ(chosen(), kAnyView);
  for (const Layout layout : {Layout::kChannelsLast, Layout::kChannelsFirst}) {
    problem_.layout = layout;
    problem_.width = 5;
    EXPECT_EQ(chosen(), kAnyView);
    EXPECT_EQ(answer_of(layout == Layout::kChannelsLast ? kOverDim : kOverTime), why::kWidth);
  }
}

}  // namespace
}  // namespace hiss
