// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace hiss::audio {
namespace {

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, args...);
  return text;
}

double round_step(double rough) {
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

double clock_step(double rough) {
  for (const double step :
       {1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0}) {
    if (step >= rough) return step;
  }
  return 3600 * std::ceil(rough / 3600);
}

}  // namespace

std::vector<Tick> axis_ticks(double low, double high, int count) {
  const double step = round_step((high - low) / std::max(count, 1));
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  std::vector<Tick> ticks;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last; ++i) {
    // + 0.0: no "-0"
    ticks.push_back({i * step + 0.0, format("%.*f", decimals, i * step + 0.0)});
  }
  return ticks;
}

TimeTicks time_ticks(double seconds, int count) {
  if (seconds < 120) return {"s", axis_ticks(0, seconds, count)};
  const bool hours = seconds >= 3600;
  TimeTicks result{hours ? "h:min:s" : "min:s", {}};
  const double step = clock_step(seconds / std::max(count, 1));
  for (double t = 0; t <= seconds; t += step) {
    const int64_t whole = std::llround(t);
    const long long h = whole / 3600, m = whole / 60, s = whole % 60;
    result.ticks.push_back(
        {t, hours ? format("%lld:%02lld:%02lld", h, m % 60, s) : format("%lld:%02lld", m, s)});
  }
  return result;
}

}  // namespace hiss::audio
