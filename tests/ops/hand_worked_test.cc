// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The references on cases small enough to work out by hand.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/run.h"

namespace hiss::testing_support {
namespace {

using Floats = std::vector<float>;

template <class Op>
void run_reference(const typename Op::Args& args) {
  ASSERT_TRUE(ok(run_kernel(*kernels<Op>().back(), args)));
}

double silu(double v) { return v / (1 + std::exp(-v)); }

// One channel, width 3, weights 1 10 100, bias 0.5, inputs 1 2 3 after a state of 5 6.
struct Convolution {
  Floats x{1, 2, 3}, weight{1, 10, 100}, bias{0.5f}, state{5, 6}, after{0, 0}, y{0, 0, 0};
  CausalConv1d::Args args() {
    CausalConv1d::Args a;
    a.x = ConstTensorView(x.data(), DType::kF32, {1, 3, 1});
    a.weight = ConstTensorView(weight.data(), DType::kF32, {1, 3});
    a.bias = ConstTensorView(bias.data(), DType::kF32, {1});
    a.initial_state = ConstTensorView(state.data(), DType::kF32, {1, 2, 1});
    a.final_state = TensorView(after.data(), DType::kF32, {1, 2, 1});
    a.y = TensorView(y.data(), DType::kF32, {1, 3, 1});
    return a;
  }
};

TEST(HandWorked, Convolution) {
  Convolution c;
  run_reference<CausalConv1d>(c.args());
  EXPECT_EQ(c.y, (Floats{5 + 60 + 100.5f, 6 + 10 + 200.5f, 1 + 20 + 300.5f}));
  EXPECT_EQ(c.after, (Floats{2, 3}));
}

TEST(HandWorked, ConvolutionInReverse) {
  Convolution c;
  CausalConv1d::Args a = c.args();
  a.direction = Direction::kReverse;
  run_reference<CausalConv1d>(a);
  // Token 2 comes first, after 5 6; token 0 last.
  EXPECT_EQ(c.y, (Floats{3 + 20 + 100.5f, 6 + 30 + 200.5f, 5 + 60 + 300.5f}));
  EXPECT_EQ(c.after, (Floats{2, 1}));
}

TEST(HandWorked, ConvolutionWithoutStateAndWithSilu) {
  Convolution c;
  CausalConv1d::Args a = c.args();
  a.initial_state = {};
  a.bias = {};
  c.weight = {1, 0.5f, 0.25f};
  a.activation = Activation::kSilu;
  run_reference<CausalConv1d>(a);
  EXPECT_FLOAT_EQ(c.y[0], static_cast<float>(silu(0.25)));
  EXPECT_FLOAT_EQ(c.y[1], static_cast<float>(silu(0.5 + 0.5)));
  EXPECT_FLOAT_EQ(c.y[2], static_cast<float>(silu(1 + 1 + 0.75)));
}

TEST(HandWorked, ConvolutionShorterThanItsFilterKeepsPartOfTheState) {
  Convolution c;
  CausalConv1d::Args a = c.args();
  a.x.shape[1] = a.y.shape[1] = 1;
  run_reference<CausalConv1d>(a);
  EXPECT_EQ(c.after, (Floats{6, 1}));
}

TEST(HandWorked, ConvolutionOfNothingCopiesTheState) {
  Convolution c;
  CausalConv1d::Args a = c.args();
  a.x.shape[1] = a.y.shape[1] = 0;
  run_reference<CausalConv1d>(a);
  EXPECT_EQ(c.after, (Floats{5, 6}));
  a.initial_state = {};
  run_reference<CausalConv1d>(a);
  EXPECT_EQ(c.after, (Floats{0, 0}));
}

TEST(HandWorked, ConvolutionUpdate) {
  Floats x{1, 2}, weight{1, 10, 100}, state{0, 0, 5, 6}, snapshots(4), y{0, 0};
  const int32_t slot = 1;
  CausalConv1dUpdate::Args a;
  a.x = ConstTensorView(x.data(), DType::kF32, {1, 2, 1});
  a.weight = ConstTensorView(weight.data(), DType::kF32, {1, 3});
  a.state = TensorView(state.data(), DType::kF32, {2, 2, 1});
  a.state_indices = ConstTensorView(&slot, DType::kI32, {1});
  a.snapshots = TensorView(snapshots.data(), DType::kF32, {1, 2, 2, 1});
  a.y = TensorView(y.data(), DType::kF32, {1, 2, 1});
  run_reference<CausalConv1dUpdate>(a);
  EXPECT_EQ(y, (Floats{5 + 60 + 100, 6 + 10 + 200}));
  EXPECT_EQ(state, (Floats{0, 0, 1, 2}));
  EXPECT_EQ(snapshots, (Floats{6, 1, 1, 2}));
}

TEST(HandWorked, ConvolutionUpdateOfAPaddingRow) {
  Floats x{1}, weight{1, 10}, state{5}, y{9};
  const int32_t slot = -1;
  CausalConv1dUpdate::Args a;
  a.x = ConstTensorView(x.data(), DType::kF32, {1, 1, 1});
  a.weight = ConstTensorView(weight.data(), DType::kF32, {1, 2});
  a.state = TensorView(state.data(), DType::kF32, {1, 1, 1});
  a.state_indices = ConstTensorView(&slot, DType::kI32, {1});
  a.y = TensorView(y.data(), DType::kF32, {1, 1, 1});
  run_reference<CausalConv1dUpdate>(a);
  EXPECT_EQ(y, Floats{0});
  EXPECT_EQ(state, Floats{5});
}

// One channel, two states that halve and keep at a step of 1: A = log(1/2), 0.
struct Scan {
  const float half = static_cast<float>(std::log(0.5));
  Floats u{1, 2}, dt{1, 2}, A{half, 0}, B{1, 10, 2, 20}, C{1, 1, 1, 0.5f}, D{3};
  Floats initial{4, 100}, after{0, 0}, between{0, 0}, y{0, 0};
  int64_t checkpoint = 0;
  SelectiveScan::Args args() {
    SelectiveScan::Args a;
    a.u = ConstTensorView(u.data(), DType::kF32, {1, 2, 1});
    a.dt = ConstTensorView(dt.data(), DType::kF32, {1, 2, 1});
    a.A = ConstTensorView(A.data(), DType::kF32, {1, 2});
    a.B = ConstTensorView(B.data(), DType::kF32, {1, 2, 1, 2});
    a.C = ConstTensorView(C.data(), DType::kF32, {1, 2, 1, 2});
    a.D = ConstTensorView(D.data(), DType::kF32, {1});
    a.initial_state = ConstTensorView(initial.data(), DType::kF32, {1, 1, 2});
    a.final_state = TensorView(after.data(), DType::kF32, {1, 1, 2});
    a.checkpoint_tokens = ConstTensorView(&checkpoint, DType::kI64, {1});
    a.checkpoint_states = TensorView(between.data(), DType::kF32, {1, 1, 1, 2});
    a.y = TensorView(y.data(), DType::kF32, {1, 2, 1});
    return a;
  }
};

void expect_near(const Floats& got, const Floats& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_FLOAT_EQ(got[i], want[i]) << i;
}

TEST(HandWorked, Scan) {
  Scan s;
  run_reference<SelectiveScan>(s.args());
  // Token 0: h = 4/2 + 1*1*1, 100 + 1*10*1. Token 1: h = 3/4 + 2*2*2, 110 + 2*20*2.
  expect_near(s.between, {3, 110});
  expect_near(s.after, {8.75f, 190});
  expect_near(s.y, {3 + 110 + 3, 8.75f + 95 + 6});
}

TEST(HandWorked, ScanInReverse) {
  Scan s;
  SelectiveScan::Args a = s.args();
  a.direction = Direction::kReverse;
  run_reference<SelectiveScan>(a);
  // Token 1 first: h = 4/4 + 8, 100 + 80. Token 0: h = 9/2 + 1, 180 + 10.
  expect_near(s.after, {5.5f, 190});
  expect_near(s.between, {5.5f, 190});
  expect_near(s.y, {5.5f + 190 + 3, 9 + 90 + 6});
}

TEST(HandWorked, ScanStepSizes) {
  // softplus(0 + bias log(e - 1)) = 1; above 20 it is the identity; limits come last.
  Scan s;
  const auto step = [&](float dt, float bias, float low, float high) {
    SelectiveScan::Args a = s.args();
    s.dt[0] = dt;
    a.dt_bias = ConstTensorView(&bias, DType::kF32, {1});
    a.dt_softplus = true;
    a.dt_min = low, a.dt_max = high;
    run_reference<SelectiveScan>(a);
    return (s.between[1] - 100) / 10;  // the state that does not decay
  };
  EXPECT_NEAR(step(0, static_cast<float>(std::log(std::exp(1.0) - 1)), -9, 999), 1, 1e-6);
  EXPECT_NEAR(step(10, 20, -9, 999), 30, 1e-5);
  EXPECT_NEAR(step(10, 20, -9, 0.25f), 0.25, 1e-6);
  EXPECT_NEAR(step(-30, 0, 0.5f, 999), 0.5, 1e-6);
}

TEST(HandWorked, ScanWithGateAndLogarithmsOfTheRates) {
  Scan s;
  Floats z{0, 2}, logs{static_cast<float>(std::log(std::log(2.0))), -INFINITY};
  SelectiveScan::Args a = s.args();
  a.z = ConstTensorView(z.data(), DType::kF32, {1, 2, 1});
  a.A = ConstTensorView(logs.data(), DType::kF32, {1, 2});
  a.A_is_log = true;
  run_reference<SelectiveScan>(a);
  expect_near(s.after, {8.75f, 190});
  expect_near(s.y, {0, static_cast<float>(109.75 * silu(2))});
}

// Two heads in one group, one row each, one state: the first halves, the second keeps.
TEST(HandWorked, ChunkScan) {
  Floats x{1, 2, 3, 4}, dt{1, 1, 2, 1}, A{static_cast<float>(std::log(0.5)), 0}, B{1, 2}, C{1, 10};
  Floats D{0, 1}, initial{8, 8}, after{0, 0}, y(4);
  SsdChunkScan::Args a;
  a.x = ConstTensorView(x.data(), DType::kF32, {1, 2, 2, 1});
  a.dt = ConstTensorView(dt.data(), DType::kF32, {1, 2, 2});
  a.A = ConstTensorView(A.data(), DType::kF32, {2});
  a.B = ConstTensorView(B.data(), DType::kF32, {1, 2, 1, 1});
  a.C = ConstTensorView(C.data(), DType::kF32, {1, 2, 1, 1});
  a.D = ConstTensorView(D.data(), DType::kF32, {2});
  a.initial_states = ConstTensorView(initial.data(), DType::kF32, {1, 2, 1, 1});
  a.final_states = TensorView(after.data(), DType::kF32, {1, 2, 1, 1});
  a.y = TensorView(y.data(), DType::kF32, {1, 2, 2, 1});
  run_reference<SsdChunkScan>(a);
  // Head 0: 8/2 + 1 = 5, then 5/4 + 2*2*3. Head 1: 8 + 2 = 10, then 10 + 1*2*4.
  expect_near(after, {13.25f, 18});
  expect_near(y, {5, 10 + 2, 132.5f, 180 + 4});

  A = {static_cast<float>(std::log(std::log(2.0))), -INFINITY};
  a.A_is_log = true;
  run_reference<SsdChunkScan>(a);
  expect_near(after, {13.25f, 18});
}

TEST(HandWorked, StateUpdate) {
  Floats x{1, 2}, dt{1, 2}, A{static_cast<float>(std::log(0.5))}, B{1, 2}, C{1, 10}, state{7, 8},
      y(2);
  Floats snapshots(2);
  const int32_t slot = 1;
  SelectiveStateUpdate::Args a;
  a.x = ConstTensorView(x.data(), DType::kF32, {1, 2, 1, 1});
  a.dt = ConstTensorView(dt.data(), DType::kF32, {1, 2, 1, 1});
  a.A = ConstTensorView(A.data(), DType::kF32, {1, 1, 1});
  a.B = ConstTensorView(B.data(), DType::kF32, {1, 2, 1, 1});
  a.C = ConstTensorView(C.data(), DType::kF32, {1, 2, 1, 1});
  a.state = TensorView(state.data(), DType::kF32, {2, 1, 1, 1});
  a.state_indices = ConstTensorView(&slot, DType::kI32, {1});
  a.snapshots = TensorView(snapshots.data(), DType::kF32, {1, 2, 1, 1, 1});
  a.y = TensorView(y.data(), DType::kF32, {1, 2, 1, 1});
  run_reference<SelectiveStateUpdate>(a);
  // 8/2 + 1 = 5, then 5/4 + 2*2*2.
  expect_near(snapshots, {5, 9.25f});
  expect_near(state, {7, 9.25f});
  expect_near(y, {5, 92.5f});

  A = {static_cast<float>(std::log(std::log(2.0)))};
  state = {7, 8};
  a.A_is_log = true;
  run_reference<SelectiveStateUpdate>(a);
  expect_near(state, {7, 9.25f});
}

TEST(HandWorked, GroupsAreRunsOfChannels) {
  // Four channels in two groups: channels 0 1 use the first B, 2 3 the second.
  Floats u{1, 1, 1, 1}, dt{1, 1, 1, 1}, A(4, 0), B{1, 10}, C{1, 1}, y(4);
  SelectiveScan::Args a;
  a.u = ConstTensorView(u.data(), DType::kF32, {1, 1, 4});
  a.dt = ConstTensorView(dt.data(), DType::kF32, {1, 1, 4});
  a.A = ConstTensorView(A.data(), DType::kF32, {4, 1});
  a.B = ConstTensorView(B.data(), DType::kF32, {1, 1, 2, 1});
  a.C = ConstTensorView(C.data(), DType::kF32, {1, 1, 2, 1});
  a.y = TensorView(y.data(), DType::kF32, {1, 1, 4});
  run_reference<SelectiveScan>(a);
  EXPECT_EQ(y, (Floats{1, 1, 10, 10}));
}

}  // namespace
}  // namespace hiss::testing_support
