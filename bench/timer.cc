// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "timer.h"

#include <algorithm>

#include "clock.h"

namespace hiss::bench {

int calls_in_a_sample(double ms_of_a_call) {
  constexpr double kSampleMs = 5;
  return static_cast<int>(std::clamp(kSampleMs / std::max(ms_of_a_call, 1e-6), 1.0, 2000.0));
}

Times summarize(std::vector<double> ms) {
  if (ms.empty()) return {};
  std::sort(ms.begin(), ms.end());
  const size_t n = ms.size();
  const double median = n % 2 == 1 ? ms[n / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2;
  return {median, (ms[n * 3 / 4] - ms[n / 4]) / median, static_cast<int>(n)};
}

Result<std::vector<Times>> take_turns(const std::vector<Timed*>& contestants, int least,
                                      double budget_ms) {
  constexpr int kMost = 1000, kFewest = 3;
  std::vector<std::vector<double>> ms(contestants.size());
  std::vector<double> spent(contestants.size());
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < contestants.size(); ++i) {
      const auto taken = static_cast<int>(ms[i].size());
      const int needed = spent[i] < 4 * budget_ms ? least : std::min(least, kFewest);
      if (taken >= needed && (spent[i] >= budget_ms || taken >= kMost)) continue;
      const double start = milliseconds(false);
      HISS_ASSIGN_OR_RETURN(const double sample, contestants[i]->milliseconds_of_a_call());
      ms[i].push_back(sample);
      spent[i] += milliseconds(false) - start;
      again = true;
    }
  }
  std::vector<Times> times;
  for (std::vector<double>& samples : ms) times.push_back(summarize(std::move(samples)));
  return times;
}

}  // namespace hiss::bench
