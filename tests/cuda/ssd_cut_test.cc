// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// How Hopper's rows of ssd_chunk_scan spread their work over the processors.

#include <gtest/gtest.h>

#include <set>
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

// Cuts of many kinds: heads of their own, heads that blocks share, none.
std::vector<std::pair<Work, Tails>> cut_works() {
  // Costs nothing to begin, so that short units are cut too.
  constexpr Costs kFree{.state_chunk = 0.4, .begin = 0, .hand_over = 0, .state = 0.01, .unit = 1};
  std::vector<std::pair<Work, Tails>> all;
  for (const int processors : {7, 20, kProcessors})
    for (const int units : {1, 2, 5, 24, 40, 64, 80, 131})
      for (const int chunks : {1, 2, 3, 8, 17, 32, 100, 128, 1024}) {
        const Work w{units, chunks};
        const CutTails cut = choose_tails(w, processors, kFree, 1e6);
        if (cut.tails.part == 0) continue;
        EXPECT_LE(cut.tails.blocks(units), processors);
        EXPECT_LE(cut.tails.state_blocks(units), processors);
        all.emplace_back(w, cut.tails);
      }
  EXPECT_GT(all.size(), 80);
  return all;
}

TEST(HopperCut, BlocksOfTailsHaveEveryChunkOnce) {
  for (const auto& [w, cut] : cut_works()) {
    std::vector<int> times(static_cast<size_t>(w.units * w.chunks));
    for (int block = 0; block < cut.blocks(static_cast<int>(w.units)); ++block)
      for (int i = 0;; ++i) {
        const Stretch s = cut.of_block(static_cast<int>(w.units), block, i);
        if (s.begin >= s.end) break;
        EXPECT_LE(s.end, w.chunks);
        for (int chunk = s.begin; chunk < s.end; ++chunk)
          ++times[static_cast<size_t>(s.unit * w.chunks + chunk)];
      }
    EXPECT_EQ(times, std::vector<int>(times.size(), 1)) << w.units << " " << w.chunks;
  }
}

// So a block's state is the sum of the pieces before it, each made and read under one number.
TEST(HopperCut, PiecesOfTheFirstPassEndWhereverABlockBeginsAndAreNumberedInOrder) {
  for (const auto& [w, cut] : cut_works()) {
    const int units = static_cast<int>(w.units);
    std::vector<std::vector<Stretch>> pieces(static_cast<size_t>(units));
    for (int block = 0; block < cut.state_blocks(units); ++block)
      for (int i = 0;; ++i) {
        const Stretch s = cut.of_state_block(units, block, i);
        if (s.begin >= s.end) break;
        pieces[static_cast<size_t>(s.unit)].push_back(s);
      }
    std::vector<std::set<int>> ends(static_cast<size_t>(units));
    int number = -1;
    for (const auto& unit : pieces) {
      int at = 0;
      for (const Stretch& s : unit) {
        EXPECT_EQ(s.begin, at);
        EXPECT_EQ(cut.next(s.unit, s.begin), s.end);
        EXPECT_GT(cut.number(s.unit, s.begin), number);
        at = s.end, number = cut.number(s.unit, s.begin);
        ends[static_cast<size_t>(s.unit)].insert(at);
      }
      EXPECT_EQ(at, cut.prefix);
    }
    EXPECT_LT(number, cut.numbers(units));
    for (int block = 0; block < cut.blocks(units); ++block)
      for (int i = 0;; ++i) {
        const Stretch s = cut.of_block(units, block, i);
        if (s.begin >= s.end) break;
        EXPECT_TRUE(s.begin == 0 || ends[static_cast<size_t>(s.unit)].contains(s.begin))
            << w.units << " " << w.chunks << " " << s.begin;
      }
  }
}

TEST(HopperCut, BlocksOfHeadsThatBeginUnitsSeveralTimesHaveFewerChunks) {
  const Tails t = choose_tails(work(1, 8192, 80, 64, 1), kProcessors, kCosts, 1e6).tails;
  ASSERT_GT(t.part, 0);
  EXPECT_LT(t.head_part + static_cast<int>(kCosts.unit * t.part / t.head) - 1, t.part);
}

TEST(HopperCut, UnitsAreNotCutIntoTailsWhereThatCostsMoreThanTheLimit) {
  const Work w = work(1, 8192, 128, 80, 8);
  const double cost = choose_tails(w, kProcessors, kCosts, 1e6).cost;
  EXPECT_LT(cost, 110);
  EXPECT_GT(choose_tails(w, kProcessors, kCosts, 1.001 * cost).tails.part, 0);
  EXPECT_EQ(choose_tails(w, kProcessors, kCosts, cost).tails.part, 0);
  EXPECT_EQ(choose_tails(work(1, 64, 128, 80, 8), kProcessors, kCosts, 1e6).tails.part, 0);
}

}  // namespace
}  // namespace hiss::cuda::ssd
