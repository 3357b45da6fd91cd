// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "pinned_pool.h"

#include <sched.h>

#include <atomic>
#include <thread>

namespace hiss::bench {

const std::vector<int>& processors() {
  static const std::vector<int> all = [] {
    std::vector<int> numbers;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
      for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &set)) numbers.push_back(i);
    return numbers;
  }();
  return all;
}

std::unique_ptr<Executor> make_pinned_pool(int threads) {
  const std::vector<int>& all = processors();
  std::unique_ptr<Executor> pool = make_thread_pool(threads);
  std::atomic<int> arrived = 0;
  pool->run(threads, [&](int64_t, int worker) {
    // A task for each worker: none takes a second one while others are missing.
    for (++arrived; arrived < threads;) std::this_thread::yield();
    if (all.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(all[static_cast<size_t>(worker) % all.size()], &set);
    sched_setaffinity(0, sizeof set, &set);
  });
  return pool;
}

}  // namespace hiss::bench
