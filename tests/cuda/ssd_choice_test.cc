// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// What the Hopper row of ssd_chunk_scan takes and asks for, on computers without a device.

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

#include "support/hopper_row.h"
namespace hiss {
namespace {
constexpr std::string_view kName = "ssd_chunk_scan/cuda.sm90.state_in_accumulators";
SsdChunkScan::Problem problem(int64_t nheads = 80, int64_t headdim = 64, int64_t dstate = 128,
                              int64_t ngroups = 1, int64_t seqlen = 2048) {
  return {.seqlen = seqlen,
          .nheads = nheads,
          .headdim = headdim,
          .dstate = dstate,
          .ngroups = ngroups,
          .dtype = DType::kBF16,
          .precision = Precision::kFast,
          .device = Device::kCuda};
}
class HopperSsd : public HopperRow {
 protected:
  HopperSsd() : HopperRow(kName, problem()) {}
};
TEST_F(HopperSsd, TakesTheModels) {
  for (const auto& [nheads, headdim, dstate, ngroups] :
       std::vector<std::array<int64_t, 4>>{{24, 64, 128, 1},   // Mamba2-130M
                                           {80, 64, 128, 1},   // Mamba2-2.7B
                                           {128, 64, 128, 8},  // Nemotron-H-8B, Codestral-7B
                                           {128, 80, 128, 8},  // Nemotron-Nano-9B-v2
                                           {24, 128, 256, 1},  // Falcon-H1-7B
                                           {48, 64, 256, 1},   // Falcon-H1-1.5B
                                           {128, 64, 128, 1},  // Granite-4-H-Small
                                           {48, 32, 128, 1},   // Granite-4-H-350M
                                           {64, 96, 96, 1},
                                           {64, 64, 16, 4}})
    EXPECT_EQ(declines(problem(nheads, headdim, dstate, ngroups)), "")
        << nheads << " " << headdim << " " << dstate << " " << ngroups;
}
TEST_F(HopperSsd, TakesBothShortTypesAndEveryOption) {
  EXPECT_EQ(declines_with([](auto& p) { p.dtype = DType::kF16; }), "");
  EXPECT_EQ(declines_with([](auto& p) {
              p.has_z = p.has_d = p.d_has_headdim = p.has_dt_bias = p.dt_softplus = true;
              p.dt_limit = p.a_is_log = p.has_initial_states = p.has_final_states = true;
              p.packed = true, p.nseq = 7, p.ncheckpoints = 3;
            }),
            "");
}
TEST_F(HopperSsd, DeclinesByNameWhatItIsNotMadeFor) {
  for (const int sm : {0, 80, 89, 100}) EXPECT_EQ(declines_on(sm), why::kDevice) << sm;
  EXPECT_EQ(declines_with([](auto& p) { p.precision = Precision::kStandard; }), why::kPrecision);
  EXPECT_EQ(declines_with([](auto& p) { p.precision = Precision::kStrict; }), why::kPrecision);
  EXPECT_EQ(declines_with([](auto& p) { p.dtype = DType::kF32; }), why::kDtype);
  EXPECT_EQ(declines_with([](auto& p) { p.state_dtype = DType::kBF16; }), why::kStateDtype);
  EXPECT_EQ(declines_with([](auto& p) { p.dense = false; }), why::kLayout);
  EXPECT_EQ(declines_with([](auto& p) { p.blocks_of_16 = false; }), why::kLayout);
  for (const int64_t dstate : {0, 4, 12, 264, 512})
    EXPECT_EQ(declines_with([&](auto& p) { p.dstate = dstate; }), why::kDstate) << dstate;
  for (const int64_t headdim : {0, 16, 40, 65})
    EXPECT_EQ(declines_with([&](auto& p) { p.headdim = headdim; }), why::kHeaddim) << headdim;
  EXPECT_EQ(declines_with([](auto& p) { p.headdim = 80, p.dstate = 256; }), why::kHeaddim);
  EXPECT_EQ(declines_with([](auto& p) { p.seqlen = 0; }), why::kShort);
  EXPECT_EQ(declines_with([](auto& p) { p.seqlen = int64_t{1} << 31; }), why::kLong);
  EXPECT_EQ(declines_with([](auto& p) { p.batch = p.nseq = int64_t{1} << 25; }), why::kLong);
}
TEST_F(HopperSsd, OnlyWorkThatIsCutNeedsMemory) {
  SsdChunkScan::Problem p = problem();
  EXPECT_GT(row_->workspace_bytes(p, hopper()), 0u);
  p = problem(264, 64);  // 132 pairs of heads
  EXPECT_EQ(row_->workspace_bytes(p, hopper()), 0u);
  p = problem(80, 64, 128, 1, 64);  // one chunk cannot be cut
  EXPECT_EQ(row_->workspace_bytes(p, hopper()), 0u);
}

// 80 blocks on 132 processors: two segments of each would not fit.
TEST_F(HopperSsd, UnitsThatLeaveProcessorsIdleHandStatesOnWhereSequencesAreLong) {
  EXPECT_GT(row_->workspace_bytes(problem(128, 80, 128, 8, 8192), hopper()), 0u);
  EXPECT_EQ(row_->workspace_bytes(problem(128, 80, 128, 8, 1024), hopper()), 0u);
}

TEST_F(HopperSsd, MemoryIsWhatProcessorsHandOnToEachOther) {
  for (const int64_t seqlen : {2048, 8192, 1 << 16, 1 << 20})
    for (const int64_t nseq : {1, 2, 64}) {
      SsdChunkScan::Problem p = problem(80, 64, 128, 1, seqlen);
      p.batch = p.nseq = nseq;
      EXPECT_LE(row_->workspace_bytes(p, hopper()), size_t{132} * 3 * 2 * 34 * 1024)
          << seqlen << " " << nseq;
    }
}

// Views that bulk copies cannot move.
TEST(BlocksOf16, AreSeenInAddressesAndStrides) {
  std::vector<uint16_t> memory(1 << 14);
  void* data = memory.data();
  while (reinterpret_cast<uintptr_t>(data) % 16 != 0) data = static_cast<uint16_t*>(data) + 1;
  const auto blocks = [&](auto&& change) {
    SsdChunkScan::Args args;
    args.x = ConstTensorView(data, DType::kBF16, {1, 4, 2, 32});
    args.y = TensorView(data, DType::kBF16, {1, 4, 2, 32});
    args.B = args.C = ConstTensorView(data, DType::kBF16, {1, 4, 1, 16});
    change(args);
    return SsdChunkScan::describe(args).blocks_of_16;
  };
  EXPECT_TRUE(blocks([](auto&) {}));
  EXPECT_TRUE(blocks([](auto& a) { a.x.stride[1] = 264; }));
  EXPECT_TRUE(blocks([](auto& a) { a.x.stride[0] = 3; }));  // of one row: not used
  EXPECT_FALSE(blocks([](auto& a) { a.x.stride[1] = 260; }));
  EXPECT_FALSE(blocks([](auto& a) { a.x.stride[2] = 40; }));
  EXPECT_FALSE(blocks([](auto& a) { a.y.stride[1] = -64; }));
  EXPECT_FALSE(blocks([](auto& a) { a.C.stride[1] = 0; }));
  EXPECT_FALSE(blocks([](auto& a) { a.B.data = static_cast<const uint16_t*>(a.B.data) + 1; }));
  EXPECT_FALSE(blocks([&](auto& a) {
    a.z = ConstTensorView(static_cast<uint16_t*>(data) + 4, DType::kBF16, {1, 4, 2, 32});
  }));
}
}  // namespace
}  // namespace hiss
