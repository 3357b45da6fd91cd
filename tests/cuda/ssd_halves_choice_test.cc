// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// What the float32 row of ssd_chunk_scan on Hopper takes and asks for, on computers without a
// device.

#include <gtest/gtest.h>

#include <string_view>

#include "support/hopper_row.h"

namespace hiss {
namespace {

constexpr std::string_view kName = "ssd_chunk_scan/cuda.sm90.two_halves";

SsdChunkScan::Problem problem(int64_t nheads = 48, int64_t headdim = 64, int64_t seqlen = 512) {
  return {.seqlen = seqlen, .nheads = nheads, .headdim = headdim, .device = Device::kCuda};
}

class HalvesSsd : public HopperRow {
 protected:
  HalvesSsd() : HopperRow(kName, problem()) {}
};

TEST_F(HalvesSsd, IsTheChoiceForFloat32InBothClasses) {
  for (const Precision precision : {Precision::kStandard, Precision::kFast})
    for (const int64_t headdim : {64, 80, 96, 128}) {
      SsdChunkScan::Problem p = problem(48, headdim);
      p.precision = precision;
      EXPECT_EQ(explain<SsdChunkScan>(p, hopper()).chosen, kName) << headdim;
    }
}

TEST_F(HalvesSsd, TakesEveryOptionButCheckpoints) {
  EXPECT_EQ(declines_with([](auto& p) {
              p.has_z = p.has_d = p.d_has_headdim = p.has_dt_bias = p.dt_softplus = true;
              p.dt_limit = p.a_is_log = p.has_initial_states = p.has_final_states = true;
              p.packed = true, p.nseq = 7, p.dstate = 13;
            }),
            "");
  EXPECT_EQ(declines_with([](auto& p) { p.ncheckpoints = 1; }), why::kCheckpoints);
}

TEST_F(HalvesSsd, DeclinesByNameWhatItIsNotMadeFor) {
  for (const int sm : {0, 80, 89, 100}) EXPECT_EQ(declines_on(sm), why::kDevice) << sm;
  EXPECT_EQ(declines_with([](auto& p) { p.precision = Precision::kStrict; }), why::kPrecision);
  EXPECT_EQ(declines_with([](auto& p) { p.dtype = DType::kBF16; }), why::kDtype);
  EXPECT_EQ(declines_with([](auto& p) { p.state_dtype = DType::kBF16; }), why::kStateDtype);
  EXPECT_EQ(declines_with([](auto& p) { p.dense = false; }), why::kLayout);
  EXPECT_EQ(declines_with([](auto& p) { p.blocks_of_16 = false; }), why::kLayout);
  for (const int64_t dstate : {0, 129, 256})
    EXPECT_EQ(declines_with([&](auto& p) { p.dstate = dstate; }), why::kDstate) << dstate;
  for (const int64_t headdim : {0, 32, 48, 65, 72})
    EXPECT_EQ(declines_with([&](auto& p) { p.headdim = headdim; }), why::kHeaddim) << headdim;
  EXPECT_EQ(declines_with([](auto& p) { p.seqlen = 31; }), why::kShort);
  EXPECT_EQ(declines_with([](auto& p) { p.packed = true, p.nseq = 17; }), why::kShort);
  EXPECT_EQ(declines_with([](auto& p) { p.seqlen = int64_t{1} << 31; }), why::kLong);
}

// Operands of B and C need memory always, states between segments only where the chip would idle.
TEST_F(HalvesSsd, AsksForMemoryOfOperandsAndOfSegments) {
  const auto bytes = [&](int64_t nheads) {
    return row_->workspace_bytes(problem(nheads, 64, 4096), hopper());
  };
  EXPECT_GT(bytes(256), 0u);
  EXPECT_EQ(bytes(256), bytes(512));
  EXPECT_GT(bytes(48), bytes(256));
}

}  // namespace
}  // namespace hiss
