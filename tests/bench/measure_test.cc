// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "measure.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace hiss::bench {
namespace {

using testing::HasSubstr;

const Peaks kPeaks{.multiply_adds = 1e9, .bf16_multiply_adds = 2e9, .exponentials = 1e8};

Shape<CausalConv1d> tiny() {
  return {"tiny", [](Tensors& t) {
            CausalConv1d::Args args;
            args.x = t.normal({2, 5, 32}), args.y = t.normal({2, 5, 32});
            args.weight = t.normal({32, 4});
            return args;
          }};
}

// The reference's answer after `spoil` has had its way with it.
class Spoilt final : public Contender {
 public:
  using Spoil = std::function<void(float* y, int64_t elements)>;
  explicit Spoilt(Spoil spoil) : spoil_(std::move(spoil)) {}
  std::string name() const override { return "spoilt 1.0"; }
  std::string leaves_out() const override { return "nothing"; }
  Prepared prepare(const CausalConv1d::Args& args, int) override {
    if (!spoil_) return Unsupported("spoilt: not this one");
    HISS_ASSIGN_OR_RETURN(auto call, KernelCall<CausalConv1d>::create(
                                         *kernels<CausalConv1d>().back(), args, serial_executor()));
    const TensorView y = call->args().y;
    spoil_(y.as<float>(), y.elements());
    return Prepared(std::make_unique<SpoiltPeer>(std::move(call)));
  }
  Prepared prepare(const CausalConv1dUpdate::Args&, int) override { return Unsupported("spoilt"); }
  Prepared prepare(const SelectiveScan::Args&, int) override { return Unsupported("spoilt"); }
  Prepared prepare(const SsdChunkScan::Args&, int) override { return Unsupported("spoilt"); }
  Prepared prepare(const SelectiveStateUpdate::Args&, int) override {
    return Unsupported("spoilt");
  }

 private:
  struct SpoiltPeer final : public Peer {
    explicit SpoiltPeer(std::unique_ptr<KernelCall<CausalConv1d>> of) : call(std::move(of)) {}
    Result<TensorView> answer() override { return TensorView(call->args().y); }
    Result<double> milliseconds_of_a_call() override { return 3.0; }
    std::unique_ptr<KernelCall<CausalConv1d>> call;
  };
  const Spoil spoil_;
};

class Measure : public testing::Test {
 protected:
  Status against(Spoilt::Spoil spoil) {
    contenders_.clear();
    contenders_.push_back(std::make_unique<Spoilt>(std::move(spoil)));
    return bench_.measure(tiny());
  }

  std::vector<std::unique_ptr<Contender>> contenders_;
  Bench bench_{{.least = 1, .budget_ms = 0}, kPeaks, contenders_};
};

TEST_F(Measure, ARightContenderGetsARatio) {
  const Status status = against([](float*, int64_t) {});
  ASSERT_TRUE(status.ok()) << status.to_string();
  ASSERT_EQ(bench_.rows().size(), 2u);  // standard, fast
  const Row& row = bench_.rows()[0];
  EXPECT_EQ(row.peer, "spoilt 1.0");
  EXPECT_EQ(row.peer_median_ms, 3);
  EXPECT_DOUBLE_EQ(row.ratio(), 3 / row.times.median_ms);
  EXPECT_GT(row.bound_ms, 0);
}

TEST_F(Measure, AContenderOffByAThousandthIsAnError) {
  const Status status = against([](float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] *= 1.001f;
  });
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("spoilt 1.0, tiny: wrong answer"));
  EXPECT_TRUE(bench_.rows().empty());
}

TEST_F(Measure, AContenderWithOneWrongElementIsAnError) {
  EXPECT_EQ(against([](float* y, int64_t n) { y[n / 2] += 0.1f; }).code(), StatusCode::kDataLoss);
}

TEST_F(Measure, AContenderWithANanIsAnError) {
  EXPECT_EQ(
      against([](float* y, int64_t) { y[0] = std::numeric_limits<float>::quiet_NaN(); }).code(),
      StatusCode::kDataLoss);
}

TEST_F(Measure, AContenderThatDeclinesLeavesARowWithoutRatio) {
  ASSERT_TRUE(against({}).ok());
  ASSERT_EQ(bench_.rows().size(), 2u);
  EXPECT_EQ(bench_.rows()[0].peer, "");
}

TEST_F(Measure, WhatTheFilterDoesNotFindIsNotMade) {
  Shape<CausalConv1d> never = tiny();
  never.make = [](Tensors&) -> CausalConv1d::Args {
    ADD_FAILURE() << "made";
    return {};
  };
  Bench bench({.filter = std::regex("selective_scan"), .least = 1}, kPeaks, contenders_);
  EXPECT_TRUE(bench.measure(never).ok());
  EXPECT_TRUE(bench.rows().empty());
}

TEST(Bound, SixteenBitsSpeedUpProductsOnly) {
  const Work work{.multiply_adds = 3e6, .matrix_multiply_adds = 2e6};
  EXPECT_DOUBLE_EQ(compute_bound(work, false, 1, kPeaks), 3);
  EXPECT_DOUBLE_EQ(compute_bound(work, true, 1, kPeaks), 2);
  EXPECT_DOUBLE_EQ(compute_bound(work, true, 2, kPeaks), 1);
}

TEST(Shapes, EveryOperatorHasSomeAndTheyAreValid) {
  for_each_operator([]<class Op>() {
    const auto all = shapes<Op>(true);
    EXPECT_FALSE(all.empty()) << Op::kName;
    for (const Shape<Op>& shape : all) {
      Tensors tensors;
      const auto args = shape.make(tensors);
      const Status status = Op::check(args);
      EXPECT_TRUE(status.ok()) << shape.name << ": " << status.to_string();
      const Work work = work_of(args);
      EXPECT_GT(work.multiply_adds, 0) << shape.name;
      EXPECT_GT(work.bytes, 0) << shape.name;
      EXPECT_LE(work.footprint, work.bytes) << shape.name;
    }
  });
}

}  // namespace
}  // namespace hiss::bench
