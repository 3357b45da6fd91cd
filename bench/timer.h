// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "hiss/status.h"

namespace hiss::bench {

// Something whose calls are timed.
class Timed {
 public:
  virtual ~Timed() = default;
  // Milliseconds of one call. Short calls are made several times and their mean given.
  virtual Result<double> milliseconds_of_a_call() = 0;
};

// How many calls of this length make a sample long enough for the clock.
int calls_in_a_sample(double ms_of_a_call);

struct Times {
  double median_ms = 0;
  double spread = 0;  // of the middle half of the samples, over the median
  int samples = 0;
};
Times summarize(std::vector<double> ms);

// Each in turn, round after round, so that what disturbs the machine disturbs all of them alike:
// at least `least` samples of each (three of what takes far too long) and `budget_ms` of its calls.
Result<std::vector<Times>> take_turns(const std::vector<Timed*>& contestants, int least,
                                      double budget_ms);

}  // namespace hiss::bench
