// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

// How the work of Hopper's rows is spread over the processors: into equal segments of each unit, or
// into ranges of chunks that run from one unit into the next.
namespace hiss::cuda::ssd {

constexpr int kChunk = 64;       // tokens worked on at once
constexpr int kBlockRows = 128;  // rows (channels of heads) of a group that a block owns
constexpr int kMaxSegments = 32;
constexpr int kMaxRanges = 160;

// What there is to do: a unit is the rows of one block in one sequence.
struct Work {
  int64_t units, chunks;  // chunks of a unit, where sequences are packed of one of mean length
};

// What passes take beside a chunk of y, in its time; measured.
struct Costs {
  double state_chunk;  // a chunk of which only the state is made
  double begin;        // a block's beginning
  double hand_over;    // from the first pass to the second
  double state;        // each state that is handed over
  double unit;         // each unit of a block after its first
};

struct Segments {
  int count;  // of each unit
  double cost;
};

// As many as only use processors that would be idle.
constexpr Segments choose_segments(const Work& work, int num_sms, const Costs& costs) {
  const int64_t waves = (work.units + num_sms - 1) / num_sms;
  Segments best{1, static_cast<double>(waves) * (static_cast<double>(work.chunks) + costs.begin)};
  for (int n = 2; n <= kMaxSegments && work.units * n <= num_sms; ++n) {
    const int64_t each = (work.chunks + n - 1) / n;
    const double cost = (1 + costs.state_chunk) * static_cast<double>(each) + 2 * costs.begin +
                        costs.hand_over + costs.state * n;
    if (cost < best.cost) best = {n, cost};
  }
  return best;
}

// Ranges of the chunks of all units, one unit behind the other: range i from begin[i] to
// begin[i + 1]. A block that begins within a unit walks the tokens before for their state.
struct Ranges {
  int count = 0;  // 0: none
  std::array<int32_t, kMaxRanges + 1> begin{};
};

// Ranges that take at most `time` each; none if that is too short for `most` of them.
constexpr Ranges cut_ranges(const Work& work, const Costs& costs, double time, int most) {
  Ranges r;
  int64_t unit = 0, done = 0;  // units before, and chunks of the unit
  while (unit < work.units) {
    if (r.count == most) return {};
    double left = time - costs.begin - costs.state_chunk * static_cast<double>(done);
    if (left < 1) return {};
    r.begin[static_cast<size_t>(r.count++)] = static_cast<int32_t>(unit * work.chunks + done);
    while (unit < work.units) {
      const int64_t taken = std::min(work.chunks - done, static_cast<int64_t>(std::max(left, 0.0)));
      done += taken, left -= static_cast<double>(taken);
      if (done < work.chunks) break;
      ++unit, done = 0, left -= costs.unit;
    }
  }
  r.begin[static_cast<size_t>(r.count)] = static_cast<int32_t>(work.units * work.chunks);
  return r;
}

// Of those for at most num_sms blocks the quickest, if they cost less than `limit`; else none.
constexpr Ranges choose_ranges(const Work& work, int num_sms, const Costs& costs, double limit) {
  const int64_t all = work.units * work.chunks;
  const int most = std::min(num_sms, kMaxRanges);
  Ranges best;
  if (all >= int64_t{1} << 31) return best;
  double low = static_cast<double>(all) / most, high = limit;
  while (high - low > 0.01 * high) {
    const double time = (low + high) / 2;
    const Ranges r = cut_ranges(work, costs, time, most);
    if (r.count == 0) {
      low = time;
    } else {
      high = time;
      best = r;
    }
  }
  return best;
}

}  // namespace hiss::cuda::ssd
