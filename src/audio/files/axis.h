// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

namespace hiss::audio {

struct Tick {
  double value = 0;
  std::string label;
};

// Round values from `low` to `high` at steps of 1, 2 or 5 times a power of ten, about `count` of
// them; labels have as many decimals as the step needs.
std::vector<Tick> axis_ticks(double low, double high, int count);

struct TimeTicks {
  const char* unit = "";  // "s", "min:s" or "h:min:s"
  std::vector<Tick> ticks;
};

// Seconds from 0 to `seconds` at steps that suit a clock, about `count` of them: labels "2.5" below
// two minutes, "3:20" below an hour, "1:05:00" above.
TimeTicks time_ticks(double seconds, int count);

}  // namespace hiss::audio
