// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Which CUDA row a Mamba-1 scan or a decode step gets, on invented machines.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hiss/ops/all.h"

namespace hiss {
namespace {

Machine device(int num_sms) {
  Machine machine;
  machine.cuda_sm = 90;
  machine.num_sms = num_sms;
  machine.shared_bytes_per_sm = 228 << 10;
  return machine;
}

SelectiveScan::Problem scan(int64_t batch, int64_t seqlen, int64_t dim) {
  return {.batch = batch,
          .seqlen = seqlen,
          .dim = dim,
          .nseq = batch,
          .device = Device::kCuda,
          .has_z = true,
          .dt_softplus = true};
}

template <class Op>
Decline declined(const typename Op::Problem& problem, std::string_view kernel) {
  for (const Kernel<Op>* row : kernels<Op>())
    if (row->name == kernel) return row->declines(problem, device(132));
  return "no such row";
}

template <class Op>
const Kernel<Op>& row(std::string_view name) {
  for (const Kernel<Op>* row : kernels<Op>())
    if (row->name == name) return *row;
  return *kernels<Op>().back();
}

class CudaChoice : public testing::Test {
 protected:
  void SetUp() override {
    if (HISS_EXPECT_CUDA == 0) GTEST_SKIP() << "no CUDA rows in this build";
  }
};

constexpr char kFew[] = "selective_scan/cuda.sm80.few_tokens";
constexpr char kBulk[] = "selective_scan/cuda.sm90.bulk_tiles";
constexpr char kUnits[] = "selective_scan/cuda.sm90.helped_units";
constexpr char kLanes[] = "selective_scan/cuda.sm80.lanes_over_state";
constexpr char kSplit[] = "selective_scan/cuda.sm80.split_sequence";
constexpr char kOneToken[] = "selective_state_update/cuda.sm80.one_token";
constexpr char kRows[] = "selective_state_update/cuda.sm80.rows_in_registers";
constexpr char kAnyView[] = "selective_state_update/cuda.sm80.any_view";

TEST_F(CudaChoice, ManyChannelsAreNotSplit) {
  EXPECT_EQ(explain<SelectiveScan>(scan(161, 251, 256), device(132)).chosen, kBulk);
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 16384, 5120), device(132)).chosen, kUnits);
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 16384, 8192), device(132)).chosen, kLanes);
}

// Units of eight channels: three or fewer for each multiprocessor are too few, six or more too
// many.
TEST_F(CudaChoice, HelpedUnitsTakeFourOrFiveForEachMultiprocessor) {
  const auto of = [](int64_t batch, int64_t seqlen, int64_t dim) {
    return declined<SelectiveScan>(scan(batch, seqlen, dim), kUnits);
  };
  EXPECT_EQ(of(1, 2048, 3 * 132 * 8), why::kFewChannels);
  EXPECT_EQ(of(1, 2048, 3 * 132 * 8 + 8), "");
  EXPECT_EQ(of(1, 2048, 5 * 132 * 8), "");
  EXPECT_EQ(of(1, 2048, 5 * 132 * 8 + 8), why::kShort);
  EXPECT_EQ(of(2, 2048, 2560), "");
  EXPECT_EQ(of(2, 2048, 66 * 5 * 8 + 8), why::kShort);
  EXPECT_EQ(of(1, 256, 5120), "");
  EXPECT_EQ(of(1, 255, 5120), why::kShort);
  SelectiveScan::Problem problem = scan(1, 2048, 5120);
  problem.packed = true;
  EXPECT_EQ(declined<SelectiveScan>(problem, kUnits), why::kPacked);
  problem.packed = false, problem.blocks_of_16 = false;
  EXPECT_EQ(declined<SelectiveScan>(problem, kUnits), why::kLayout);
}

TEST_F(CudaChoice, OnlyHopperHasBulkCopies) {
  Machine ampere = device(132);
  ampere.cuda_sm = 80;
  EXPECT_EQ(explain<SelectiveScan>(scan(161, 251, 256), ampere).chosen, kLanes);
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 2048, 5120), ampere).chosen, kLanes);
}

TEST_F(CudaChoice, BulkTilesDeclineWithTheirReason) {
  const auto with = [](auto&& change) {
    SelectiveScan::Problem problem = scan(161, 251, 256);
    change(problem);
    return declined<SelectiveScan>(problem, kBulk);
  };
  EXPECT_EQ(with([](auto&) {}), "");
  EXPECT_EQ(with([](auto& p) { p.direction = Direction::kReverse; }), "");
  EXPECT_EQ(with([](auto& p) { p.seqlen = 0; }), "");
  EXPECT_EQ(with([](auto& p) { p.precision = Precision::kStrict; }), why::kPrecision);
  EXPECT_EQ(with([](auto& p) { p.dstate = 8; }), why::kDstate);
  EXPECT_EQ(with([](auto& p) { p.layout = Layout::kChannelsFirst; }), why::kLayout);
  EXPECT_EQ(with([](auto& p) { p.dense_bc = false; }), why::kLayout);
  EXPECT_EQ(with([](auto& p) { p.blocks_of_16 = false; }), why::kLayout);
  EXPECT_EQ(with([](auto& p) { p.dim = 254; }), why::kLayout);
  EXPECT_EQ(with([](auto& p) { p.ngroups = 128; }), why::kLayout);
  EXPECT_EQ(with([](auto& p) { p.dim = 252; }), "");
  EXPECT_EQ(with([](auto& p) { p.dim = 252, p.dtype = DType::kBF16; }), why::kLayout);
  EXPECT_EQ(with([](auto& p) { p.packed = true; }), why::kPacked);
  EXPECT_EQ(with([](auto& p) { p.ncheckpoints = 1; }), why::kCheckpoints);
  EXPECT_EQ(with([](auto& p) { p.nseq = 2; }), why::kShort);
  EXPECT_EQ(with([](auto& p) { p.seqlen = int64_t{1} << 31; }), why::kLong);
  EXPECT_EQ(with([](auto& p) { p.dim = int64_t{1} << 31; }), why::kLong);
  EXPECT_EQ(with([](auto& p) { p.nseq = p.batch = int64_t{1} << 31; }), why::kLong);
}

// More than 80 channels a multiprocessor: up to that, warps that help each other.
TEST_F(CudaChoice, BulkTilesWantMoreChannelsThanHelpedBlocksHave) {
  EXPECT_EQ(declined<SelectiveScan>(scan(1, 64, 80 * 132), kBulk), why::kShort);
  EXPECT_EQ(declined<SelectiveScan>(scan(1, 64, 80 * 132 + 16), kBulk), "");
  EXPECT_EQ(declined<SelectiveScan>(scan(80, 64, 132), kBulk), "");  // of 16 channels or less each
}

// Views that bulk copies cannot move.
TEST(ScanInBlocksOf16, IsSeenInAddressesAndStrides) {
  std::vector<float> memory(1 << 12);
  float* data = memory.data();
  while (reinterpret_cast<uintptr_t>(data) % 16 != 0) ++data;
  const auto blocks = [&](auto&& change) {
    SelectiveScan::Args args;
    args.u = args.dt = args.z = ConstTensorView(data, DType::kF32, {2, 3, 32});
    args.y = TensorView(data, DType::kF32, {2, 3, 32});
    args.A = ConstTensorView(data, DType::kF32, {32, 16});
    args.B = args.C = ConstTensorView(data, DType::kF32, {2, 3, 1, 16});
    change(args);
    return SelectiveScan::describe(args).blocks_of_16;
  };
  EXPECT_TRUE(blocks([](auto&) {}));
  EXPECT_TRUE(blocks([](auto& a) { a.z = {}; }));
  EXPECT_TRUE(blocks([](auto& a) { a.u.stride[1] = 64; }));
  EXPECT_TRUE(blocks([](auto& a) { a.B.stride[2] = 3; }));  // of one group: not used
  EXPECT_FALSE(blocks([](auto& a) { a.u.stride[1] = 33; }));
  EXPECT_FALSE(blocks([](auto& a) { a.dt.stride[0] = 0; }));
  EXPECT_FALSE(blocks([](auto& a) { a.y.stride[1] = -32; }));
  EXPECT_FALSE(blocks([](auto& a) { a.C.stride[1] = 18; }));
  EXPECT_FALSE(blocks([&](auto& a) { a.z.data = data + 1; }));
  EXPECT_FALSE(blocks([&](auto& a) { a.B.data = data + 2; }));
}

TEST_F(CudaChoice, UpToFourTokensHaveARowOfTheirOwn) {
  for (const int64_t tokens : {1, 4})
    for (const int64_t batch : {1, 2048}) {
      SelectiveScan::Problem problem = scan(batch, tokens, 64);
      EXPECT_EQ(explain<SelectiveScan>(problem, device(132)).chosen, kFew);
      problem.precision = Precision::kStrict, problem.layout = Layout::kStrided;
      EXPECT_EQ(explain<SelectiveScan>(problem, device(132)).chosen, kFew);
    }
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 5, 64), device(132)).chosen, kLanes);
}

TEST_F(CudaChoice, FewTokensDeclineWithTheirReason) {
  const auto with = [](auto&& change) {
    SelectiveScan::Problem problem = scan(3, 4, 64);
    change(problem);
    return declined<SelectiveScan>(problem, kFew);
  };
  EXPECT_EQ(with([](auto&) {}), "");
  EXPECT_EQ(with([](auto& p) { p.seqlen = 0; }), why::kShort);
  EXPECT_EQ(with([](auto& p) { p.seqlen = 5; }), why::kLong);
  EXPECT_EQ(with([](auto& p) { p.dstate = 8; }), why::kDstate);
  EXPECT_EQ(with([](auto& p) { p.packed = true; }), why::kPacked);
  EXPECT_EQ(with([](auto& p) { p.ncheckpoints = 1; }), why::kCheckpoints);
}

TEST_F(CudaChoice, FewChannelsOfALongSequenceAreSplit) {
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 16384, 256), device(132)).chosen, kSplit);
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 4096, 1536), device(132)).chosen, kSplit);
}

// Segments of 64 tokens where the device holds all of them at once.
TEST_F(CudaChoice, FewChannelsAreSplitFromFourShortSegmentsOn) {
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 256, 64), device(132)).chosen, kSplit);
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 255, 64), device(132)).chosen, kLanes);
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 500, 1024), device(132)).chosen, kSplit);
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 500, 2048), device(132)).chosen, kLanes);
  EXPECT_EQ(row<SelectiveScan>(kSplit).workspace_bytes(scan(1, 500, 64), device(132)),
            8u * 64 * 17 * sizeof(float));
}

TEST_F(CudaChoice, ASmallerDeviceIsFullSooner) {
  EXPECT_EQ(explain<SelectiveScan>(scan(1, 4096, 1536), device(20)).chosen, kLanes);
}

TEST_F(CudaChoice, SplitSequenceDeclinesWithItsReason) {
  const SelectiveScan::Problem base = scan(1, 16384, 256);
  ASSERT_EQ(declined<SelectiveScan>(base, kSplit), "");
  const auto with = [&](auto&& change) {
    SelectiveScan::Problem problem = base;
    change(problem);
    return declined<SelectiveScan>(problem, kSplit);
  };
  EXPECT_EQ(with([](auto& p) { p.precision = Precision::kStrict; }), why::kPrecision);
  EXPECT_EQ(with([](auto& p) { p.dstate = 8; }), why::kDstate);
  EXPECT_EQ(with([](auto& p) { p.layout = Layout::kStrided; }), why::kLayout);
  EXPECT_EQ(with([](auto& p) { p.dense_bc = false; }), why::kLayout);
  EXPECT_EQ(with([](auto& p) { p.packed = true; }), why::kPacked);
  EXPECT_EQ(with([](auto& p) { p.ncheckpoints = 1; }), why::kCheckpoints);
  EXPECT_EQ(with([](auto& p) { p.seqlen = 100; }), why::kShort);
  EXPECT_EQ(with([](auto& p) { p.dim = 1 << 16; }), why::kShort);
  EXPECT_EQ(with([](auto& p) { p.seqlen = int64_t{1} << 32; }), why::kLong);
}

TEST_F(CudaChoice, LanesOverStateTakesWhateverIsValidButEndlessSequences) {
  SelectiveScan::Problem problem = scan(3, 0, 7);
  problem.dstate = 1000, problem.ngroups = 7, problem.layout = Layout::kStrided;
  problem.dense_bc = false, problem.precision = Precision::kStrict, problem.packed = true;
  EXPECT_EQ(declined<SelectiveScan>(problem, kLanes), "");
  problem.seqlen = int64_t{1} << 32;
  EXPECT_EQ(declined<SelectiveScan>(problem, kLanes), why::kLong);
}

TEST_F(CudaChoice, AWorkspaceIsAskedForWhereStatesLeaveTheRegisters) {
  const auto& lanes = row<SelectiveScan>(kLanes);
  const auto& split = row<SelectiveScan>(kSplit);
  SelectiveScan::Problem problem = scan(1, 16384, 256);
  EXPECT_EQ(lanes.workspace_bytes(problem, device(132)), 0u);
  // A state and the sum of delta for each channel of at least two segments.
  EXPECT_GE(split.workspace_bytes(problem, device(132)), 2u * 256 * 17 * sizeof(float));
  problem.dstate = 64;
  EXPECT_EQ(lanes.workspace_bytes(problem, device(132)), 256u * 64 * sizeof(float));
}

SelectiveStateUpdate::Problem decode(int64_t dstate, DType type, DType state) {
  SelectiveStateUpdate::Problem problem;
  problem.device = Device::kCuda;
  problem.batch = problem.nslots = 32;
  problem.nheads = 80;
  problem.dstate = dstate;
  problem.dtype = type;
  problem.state_dtype = state;
  return problem;
}

TEST_F(CudaChoice, OneTokenOfDenseStatesHasARowOfItsOwn) {
  for (const int64_t dstate : {16, 96, 128, 256})
    EXPECT_EQ(explain<SelectiveStateUpdate>(decode(dstate, DType::kBF16, DType::kF32), device(132))
                  .chosen,
              kOneToken);
}

TEST_F(CudaChoice, SeveralTokensOrSnapshotsStayInRegisters) {
  SelectiveStateUpdate::Problem several = decode(128, DType::kBF16, DType::kF32), kept = several;
  several.ntokens = 4, kept.has_snapshots = true;
  EXPECT_EQ(explain<SelectiveStateUpdate>(several, device(132)).chosen, kRows);
  EXPECT_EQ(explain<SelectiveStateUpdate>(kept, device(132)).chosen, kRows);
  EXPECT_EQ(declined<SelectiveStateUpdate>(several, kOneToken), why::kLong);
  EXPECT_EQ(declined<SelectiveStateUpdate>(kept, kOneToken), why::kCheckpoints);
}

TEST_F(CudaChoice, RowsOfDenseStatesDeclineWithTheirReason) {
  for (const char* row : {kOneToken, kRows}) {
    const auto of = [&](int64_t dstate, DType type, DType state) {
      return declined<SelectiveStateUpdate>(decode(dstate, type, state), row);
    };
    EXPECT_EQ(of(17, DType::kF32, DType::kF32), why::kDstate) << row;
    EXPECT_EQ(of(0, DType::kF32, DType::kF32), why::kDstate) << row;
    EXPECT_EQ(of(1024, DType::kF32, DType::kF32), why::kDstate) << row;
    EXPECT_EQ(of(128, DType::kF32, DType::kBF16), why::kStateDtype) << row;
    SelectiveStateUpdate::Problem problem = decode(128, DType::kF32, DType::kF32);
    problem.has_initial_states = true;
    EXPECT_EQ(declined<SelectiveStateUpdate>(problem, row), why::kInitialStates) << row;
    problem.has_initial_states = false, problem.dense = false;
    EXPECT_EQ(declined<SelectiveStateUpdate>(problem, row), why::kLayout) << row;
    EXPECT_EQ(explain<SelectiveStateUpdate>(problem, device(132)).chosen, kAnyView);
  }
}

TEST_F(CudaChoice, OneTokenDeclinesMoreHeadsThanAGridHas) {
  SelectiveStateUpdate::Problem problem = decode(128, DType::kF32, DType::kF32);
  problem.nheads = 65535;
  EXPECT_EQ(declined<SelectiveStateUpdate>(problem, kOneToken), "");
  problem.nheads = 65536;
  EXPECT_EQ(declined<SelectiveStateUpdate>(problem, kOneToken), why::kLayout);
}

}  // namespace
}  // namespace hiss
