// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// How Hopper's rows of ssd_chunk_scan spread their work over the processors.

#include <gtest/gtest.h>

#include <vector>

#include "cuda/ssd_chunk_scan/hopper_cut.h"

namespace hiss::cuda::ssd {
namespace {

constexpr int kProcessors = 132;
constexpr Costs kCosts{.state_chunk = 0.4, .begin = 2, .hand_over = 2, .state = 0.5, .unit = 0.7};

Work work(int64_t nseq, int64_t seqlen, int nheads, int headdim, int ngroups) {
  const int blocks = (nheads / ngroups * headdim + kBlockRows - 1) / kBlockRows;
  return {.units = nseq * ngroups * blocks, .chunks = (seqlen + kChunk - 1) / kChunk};
}

// Sizes at which ranges are worth it or not.
std::vector<Work> works() {
  std::vector<Work> all;
  for (const int64_t seqlen : {1, 64, 500, 2048, 8192, 65536})
    for (const int64_t nseq : {1, 3})
      for (const auto& [nheads, headdim, ngroups] :
           std::vector<std::array<int, 3>>{{80, 64, 1}, {128, 80, 8}, {24, 128, 1}, {3, 32, 1}})
        all.push_back(work(nseq, seqlen, nheads, headdim, ngroups));
  return all;
}

// The time that a range takes by its costs.
double time_of(const Work& w, int64_t begin, int64_t end) {
  double time = kCosts.begin + kCosts.state_chunk * static_cast<double>(begin % w.chunks);
  for (int64_t at = begin; at < end; ++at) {
    if (at > begin && at % w.chunks == 0) time += kCosts.unit;
    time += 1;
  }
  return time;
}

TEST(HopperCut, SegmentsUseOnlyProcessorsThatWouldBeIdle) {
  for (const Work& w : works()) {
    const Segments s = choose_segments(w, kProcessors, kCosts);
    EXPECT_GE(s.count, 1);
    EXPECT_TRUE(s.count == 1 || s.count * w.units <= kProcessors) << w.units << " " << w.chunks;
  }
  EXPECT_EQ(choose_segments(work(1, 8192, 24, 128, 1), kProcessors, kCosts).count, 5);
  EXPECT_EQ(choose_segments(work(1, 64, 24, 128, 1), kProcessors, kCosts).count, 1);
}

TEST(HopperCut, RangesFollowEachOtherFromTheFirstChunkToTheLast) {
  int chosen = 0;
  for (const Work& w : works()) {
    const Ranges r = choose_ranges(w, kProcessors, kCosts, 1e6);
    if (r.count == 0) continue;
    ++chosen;
    EXPECT_LE(r.count, kProcessors);
    EXPECT_EQ(r.begin[0], 0);
    for (size_t i = 0; i < static_cast<size_t>(r.count); ++i) EXPECT_LT(r.begin[i], r.begin[i + 1]);
    EXPECT_EQ(r.begin[static_cast<size_t>(r.count)], w.units * w.chunks);
  }
  EXPECT_GT(chosen, 20);
}

TEST(HopperCut, NoRangeTakesLongerThanItsLimit) {
  int chosen = 0;
  for (const Work& w : works())
    for (const double share : {0.7, 1.0, 3.0}) {
      const double limit = share * choose_segments(w, kProcessors, kCosts).cost;
      const Ranges r = cut_ranges(w, kCosts, limit, kMaxRanges);
      chosen += r.count > 0;
      for (size_t i = 0; i < static_cast<size_t>(r.count); ++i)
        EXPECT_LE(time_of(w, r.begin[i], r.begin[i + 1]), limit * (1 + 1e-9))
            << w.units << " " << w.chunks << " " << i;
    }
  EXPECT_GT(chosen, 50);
}

TEST(HopperCut, AllRangesButTheLastTakeTheSameTimeToAChunkAndThreeInAHundred) {
  const Work w = work(1, 8192, 128, 80, 8);
  const Ranges r = choose_ranges(w, kProcessors, kCosts, 1e6);
  ASSERT_GT(r.count, 100);
  double least = 1e9, most = 0;
  for (size_t i = 0; i + 1 < static_cast<size_t>(r.count); ++i) {
    const double time = time_of(w, r.begin[i], r.begin[i + 1]);
    least = std::min(least, time), most = std::max(most, time);
  }
  EXPECT_LE(most - least, 1 + 0.03 * most);
}

// 160 units on 132 processors would be two rounds of 32 chunks.
TEST(HopperCut, RangesShareUnitsThatAreMoreThanProcessors) {
  const Work w = work(4, 2048, 80, 64, 1);
  EXPECT_GT(choose_segments(w, kProcessors, kCosts).cost, 64);
  const Ranges r = choose_ranges(w, kProcessors, kCosts, 64);
  ASSERT_GT(r.count, 120);
  for (size_t i = 0; i < static_cast<size_t>(r.count); ++i)
    EXPECT_LT(time_of(w, r.begin[i], r.begin[i + 1]), 52);
}

TEST(HopperCut, ThereAreNoRangesQuickerThanAChunk) {
  const Work w = work(1, 2048, 80, 64, 1);
  EXPECT_EQ(cut_ranges(w, kCosts, kCosts.begin + 0.9, kProcessors).count, 0);
  EXPECT_EQ(choose_ranges(w, kProcessors, kCosts, kCosts.begin + 0.9).count, 0);
}

}  // namespace
}  // namespace hiss::cuda::ssd
