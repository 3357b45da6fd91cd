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

// Chunks of a unit.
struct Stretch {
  int unit, begin, end;
};

// Where all units have the same number of chunks and each is cut: a unit ends in `count` tails of
// `part` chunks, a block each. What is before them is its head; the heads of all units lie one
// behind the other, and blocks take `head_part` chunks of them each. So no state is needed behind
// `prefix` chunks of a unit. Blocks of the first pass take `states_part` chunks of all prefixes,
// one behind the other, in pieces that end where a block of either pass begins.
struct Tails {
  int part = 0;  // 0: units are not cut so
  int count = 0, head = 0, head_part = 1, prefix = 1, states_part = 1;

  constexpr int blocks(int units) const {
    return units * count + (units * head + head_part - 1) / head_part;
  }
  constexpr int state_blocks(int units) const {
    return (units * prefix + states_part - 1) / states_part;
  }

  // The stretch `i` of a block of the second pass; empty behind the last.
  constexpr Stretch of_block(int units, int block, int i) const {
    if (block < units * count) {
      const int begin = head + block % count * part;
      return {block / count, begin, i == 0 ? begin + part : begin};
    }
    const int first = (block - units * count) * head_part;
    const int last = std::min(first + head_part, units * head), unit = first / head + i;
    return {unit, std::max(first - unit * head, 0), std::min(last - unit * head, head)};
  }

  // The piece `i` of a block of the first pass; empty behind the last.
  constexpr Stretch of_state_block(int units, int block, int i) const {
    int at = block * states_part;
    const int last = std::min(at + states_part, units * prefix);
    while (at < last) {
      const int unit = at / prefix, begin = at - unit * prefix, end = next(unit, begin);
      if (i-- == 0) return {unit, begin, end};
      at += end - begin;
    }
    return {0, 0, 0};
  }

  // Where the piece at a chunk ends.
  constexpr int next(int unit, int chunk) const {
    const int heads = unit * head, states = unit * prefix;
    const int of_head = std::min(head, ((heads + chunk) / head_part + 1) * head_part - heads);
    const int of_tail = head + ((chunk - head) / part + 1) * part;
    const int of_states = ((states + chunk) / states_part + 1) * states_part - states;
    return std::min(std::min(chunk < head ? of_head : of_tail, of_states), prefix);
  }

  // The number of the piece at a chunk among all: one for each beginning of a block up to there.
  constexpr int number(int unit, int chunk) const {
    const int in_head = chunk < head ? chunk : head > 0 ? head - 1 : 0;
    const int tail = chunk < head ? 0 : (head > 0) + (chunk - head) / part;
    return (unit * head + in_head) / head_part + unit * (count - 1 + (head > 0)) + tail +
           (unit * prefix + chunk) / states_part;
  }
  // More than the number of any.
  constexpr int numbers(int units) const { return blocks(units) + state_blocks(units); }
};

struct CutTails {
  Tails tails;
  double cost;
};

// For at most num_sms blocks, if that costs less than `limit`.
constexpr CutTails choose_tails(const Work& work, int num_sms, const Costs& costs, double limit) {
  const int64_t all = work.units * work.chunks;
  CutTails best{{}, limit};
  if (all >= int64_t{1} << 30 || work.units >= num_sms) return best;
  const int units = static_cast<int>(work.units), chunks = static_cast<int>(work.chunks);
  const double apart = 2 * costs.begin + costs.hand_over;
  for (int part = static_cast<int>((all + num_sms - 1) / num_sms);
       part < chunks && part + apart < best.cost; ++part) {
    Tails t{.part = part, .count = chunks / part};
    t.head = chunks - t.count * part;
    t.head_part = std::max(t.head, 1);
    if (t.head > 0 && units * (t.count + 1) > num_sms) {
      // Blocks of heads begin units several times.
      t.head_part = part - static_cast<int>(costs.unit * part / t.head);
      if (t.head_part < t.head) continue;
    }
    if (t.blocks(units) > num_sms) continue;
    t.prefix = chunks - part;
    // Fewer and longer pieces are fewer states to sum.
    const int shortest = (units * t.prefix + num_sms - 1) / num_sms;
    for (t.states_part = shortest; t.states_part <= t.prefix; ++t.states_part) {
      const double pieces = static_cast<double>(t.prefix) / t.states_part + t.count;
      const double cost = part + apart + costs.state_chunk * t.states_part + costs.state * pieces;
      if (cost >= best.cost && t.states_part > shortest) break;
      if (cost < best.cost) best = {t, cost};
    }
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

// What the slowest of them takes.
constexpr double longest_range(const Ranges& r, const Work& work, const Costs& costs) {
  double longest = 0;
  for (size_t i = 0; i < static_cast<size_t>(r.count); ++i) {
    const int64_t begin = r.begin[i], end = r.begin[i + 1];
    const int64_t units = (end - 1) / work.chunks - begin / work.chunks;
    longest = std::max(
        longest, costs.begin + costs.state_chunk * static_cast<double>(begin % work.chunks) +
                     static_cast<double>(end - begin) + costs.unit * static_cast<double>(units));
  }
  return longest;
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
