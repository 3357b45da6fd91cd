// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Which of the portable CUDA rows of ssd_chunk_scan takes a problem, on invented machines.

#include <gtest/gtest.h>

#include <string>

#include "hiss/ops/ssd_chunk_scan.h"

namespace hiss {
namespace {

constexpr std::string_view kChunked = "ssd_chunk_scan/cuda.sm80.chunked";
constexpr std::string_view kSequential = "ssd_chunk_scan/cuda.sm80.sequential";

Machine device(int sm, int64_t shared_bytes = 228 << 10) {
  Machine machine;
  machine.cuda_sm = sm;
  machine.num_sms = 132;
  machine.shared_bytes_per_sm = shared_bytes;
  return machine;
}

SsdChunkScan::Problem prefill(int64_t seqlen = 512) {
  SsdChunkScan::Problem problem;
  problem.device = Device::kCuda;
  problem.seqlen = seqlen;
  problem.nheads = 48;
  return problem;
}

Decline answer(std::string_view kernel, const SsdChunkScan::Problem& problem,
               const Machine& machine = device(80)) {
  for (const Explanation::Row& row : explain<SsdChunkScan>(problem, machine).rows)
    if (row.kernel == kernel) return row.declined;
  return "no such row";
}

class SsdChunkScanCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (HISS_EXPECT_CUDA == 0) GTEST_SKIP() << "no CUDA rows in this build";
  }
};

TEST_F(SsdChunkScanCuda, ChunksTakeLongSequencesOfAnyOptions) {
  SsdChunkScan::Problem problem = prefill();
  EXPECT_EQ(answer(kChunked, problem), "");
  problem.headdim = 7;
  problem.dstate = 256;
  problem.dense = false;
  problem.dtype = DType::kBF16;
  problem.state_dtype = DType::kF16;
  problem.packed = problem.has_z = problem.has_final_states = true;
  problem.nseq = 3;
  problem.ncheckpoints = 2;
  EXPECT_EQ(answer(kChunked, problem), "");
  problem.precision = Precision::kFast;
  EXPECT_EQ(answer(kChunked, problem), "");
}

TEST_F(SsdChunkScanCuda, ChunksLeaveTheRestToTheSequentialRow) {
  SsdChunkScan::Problem strict = prefill(), wide = prefill(), brief = prefill(4);
  strict.precision = Precision::kStrict;
  wide.dstate = 257;
  EXPECT_EQ(answer(kChunked, strict), why::kPrecision);
  EXPECT_EQ(answer(kChunked, wide), why::kDstate);
  EXPECT_EQ(answer(kChunked, brief), why::kShort);
  for (const SsdChunkScan::Problem& problem : {strict, wide, brief}) {
    EXPECT_EQ(answer(kSequential, problem), "");
    EXPECT_EQ(explain<SsdChunkScan>(problem, device(80)).chosen, kSequential);
  }
}

TEST_F(SsdChunkScanCuda, PackedSequencesAreShortIfTheirMeanIs) {
  SsdChunkScan::Problem problem = prefill(4096);
  problem.packed = true;
  problem.nseq = 8;
  EXPECT_EQ(answer(kChunked, problem), "");
  problem.nseq = 1024;
  EXPECT_EQ(answer(kChunked, problem), why::kShort);
}

TEST_F(SsdChunkScanCuda, ChunksNeedTheSharedMemoryOfTheirOperands) {
  const Machine small = device(89, 100 << 10);
  SsdChunkScan::Problem problem = prefill();
  EXPECT_EQ(answer(kChunked, problem, small), why::kDstate);
  problem.precision = Precision::kFast;
  EXPECT_EQ(answer(kChunked, problem, small), "");
}

TEST_F(SsdChunkScanCuda, TheSequentialRowHoldsStatesUpTo512) {
  SsdChunkScan::Problem problem = prefill(1);
  problem.dstate = 512;
  EXPECT_EQ(answer(kSequential, problem), "");
  problem.dstate = 513;
  EXPECT_EQ(answer(kSequential, problem), why::kDstate);
}

}  // namespace
}  // namespace hiss
