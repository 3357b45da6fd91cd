// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <ctime>

namespace hiss::bench {

// Of the calling thread's own time, or of the wall's.
inline double milliseconds(bool of_this_thread) {
  timespec t{};
  clock_gettime(of_this_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

}  // namespace hiss::bench
