// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// What the row of ssd_chunk_scan that keeps its state in BF16 takes, and that it is chosen for
// states of BF16 alone, on computers without a device.

#include <gtest/gtest.h>

#include <string_view>

#include "support/hopper_row.h"

namespace hiss {
namespace {

constexpr std::string_view kName = "ssd_chunk_scan/cuda.sm90.state_in_bf16";

SsdChunkScan::Problem problem(int64_t nheads = 24, int64_t headdim = 128, int64_t dstate = 256) {
  return {.seqlen = 8192,
          .nheads = nheads,
          .headdim = headdim,
          .dstate = dstate,
          .dtype = DType::kBF16,
          .state_dtype = DType::kBF16,
          .precision = Precision::kFast,
          .device = Device::kCuda};
}

class Bf16StateSsd : public HopperRow {
 protected:
  Bf16StateSsd() : HopperRow(kName, problem()) {}
};

TEST_F(Bf16StateSsd, IsTheChoiceForStatesOfBf16InTheFastClass) {
  for (const DType dtype : {DType::kBF16, DType::kF16})
    for (const int64_t dstate : {8, 64, 96, 128, 256})
      for (const int64_t headdim : {64, 128}) {
        SsdChunkScan::Problem p = problem(48, headdim, dstate);
        p.dtype = dtype;
        EXPECT_EQ(explain<SsdChunkScan>(p, hopper()).chosen, kName) << dstate << " " << headdim;
      }
  for (const int64_t headdim : {32, 48, 80, 96})
    EXPECT_EQ(explain<SsdChunkScan>(problem(48, headdim, 128), hopper()).chosen, kName) << headdim;
}

TEST_F(Bf16StateSsd, IsNeverChosenForStatesThatNobodyCalledBf16) {
  for (const DType state : {DType::kF32, DType::kF16}) {
    SsdChunkScan::Problem p = problem();
    p.state_dtype = state;
    EXPECT_NE(explain<SsdChunkScan>(p, hopper()).chosen, kName);
    EXPECT_EQ(declines(p), why::kStateDtype);
  }
  EXPECT_EQ(SsdChunkScan::describe({}).state_dtype, DType::kF32);
}

TEST_F(Bf16StateSsd, TakesEveryOption) {
  EXPECT_EQ(declines_with([](auto& p) {
              p.has_z = p.has_d = p.d_has_headdim = p.has_dt_bias = p.dt_softplus = true;
              p.dt_limit = p.a_is_log = p.has_initial_states = p.has_final_states = true;
              p.packed = true, p.nseq = 7, p.ncheckpoints = 3;
            }),
            "");
}

TEST_F(Bf16StateSsd, DeclinesByNameWhatItIsNotMadeFor) {
  for (const int sm : {0, 80, 89, 100}) EXPECT_EQ(declines_on(sm), why::kDevice) << sm;
  for (const Precision precision : {Precision::kStandard, Precision::kStrict})
    EXPECT_EQ(declines_with([&](auto& p) { p.precision = precision; }), why::kPrecision);
  EXPECT_EQ(declines_with([](auto& p) { p.dtype = DType::kF32; }), why::kDtype);
  EXPECT_EQ(declines_with([](auto& p) { p.dense = false; }), why::kLayout);
  EXPECT_EQ(declines_with([](auto& p) { p.blocks_of_16 = false; }), why::kLayout);
  for (const int64_t dstate : {0, 4, 12, 264})
    EXPECT_EQ(declines_with([&](auto& p) { p.dstate = dstate; }), why::kDstate) << dstate;
  for (const int64_t headdim : {0, 16, 40, 65, 80})
    EXPECT_EQ(declines_with([&](auto& p) { p.headdim = headdim; }), why::kHeaddim) << headdim;
  EXPECT_EQ(declines_with([](auto& p) { p.seqlen = 7; }), why::kShort);
  EXPECT_EQ(declines_with([](auto& p) { p.seqlen = int64_t{1} << 31; }), why::kLong);
}

TEST_F(Bf16StateSsd, AsksForMemoryWhereStatesAreHandedOn) {
  const auto bytes = [&](int64_t seqlen, int64_t dstate) {
    SsdChunkScan::Problem p = problem(24, 128, dstate);
    p.seqlen = seqlen;
    return row_->workspace_bytes(p, hopper());
  };
  for (const int64_t dstate : {64, 128, 256}) EXPECT_EQ(bytes(64, dstate), 0u) << dstate;
  EXPECT_GT(bytes(8192, 64), 0u);
  EXPECT_GT(bytes(8192, 256), bytes(8192, 128));
}

// One for 64 tokens and a checkpoint, as a random walk and a part that does not average out; in the
// strict class one a token.
TEST(SsdErrorBound, CountsTheRoundingsOfAShortState) {
  SsdChunkScan::Problem p = problem();
  p.seqlen = 64 * 1024;
  const double rounding = 0x1p-8;
  const auto of_state = [&](auto&& change) {
    SsdChunkScan::Problem with = p, without = p;
    change(with), change(without);
    without.state_dtype = DType::kF32;
    return (SsdChunkScan::error_bound(with).relative_rms -
            SsdChunkScan::error_bound(without).relative_rms) /
           rounding;
  };
  EXPECT_NEAR(of_state([](auto&) {}), 1 + 32 + 64, 1e-6);
  EXPECT_NEAR(of_state([](auto& q) { q.ncheckpoints = 65; }), 1 + 33 + 1089 / 16.0, 1e-6);
  EXPECT_NEAR(of_state([](auto& q) { q.precision = Precision::kStandard; }), 1 + 32 + 64, 1e-6);
  EXPECT_NEAR(of_state([](auto& q) { q.precision = Precision::kStrict; }), 1 + 256, 1e-6);
}

}  // namespace
}  // namespace hiss
