// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/nn/tasks.h"

#include <mutex>

namespace hiss::models {

Status run_tasks(Executor& executor, int64_t tasks, FunctionRef<Status(int64_t, int)> task) {
  std::mutex mutex;
  Status first;
  int64_t first_task = tasks;
  executor.run(tasks, [&](int64_t i, int worker) {
    Status status = task(i, worker);
    if (status.ok()) return;
    std::lock_guard lock(mutex);
    if (i >= first_task) return;
    first_task = i;
    first = std::move(status);
  });
  return first;
}

}  // namespace hiss::models
