// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hiss/executor.h"

namespace hiss::ggml {

// One thread of a team whose threads all run the same code, as ggml's do: each takes its share of
// the tasks, and none goes on before all are done.
class TeamExecutor final : public Executor {
 public:
  TeamExecutor(int thread, int threads, void (*barrier)(void*), void* team)
      : thread_(thread), threads_(threads), barrier_(barrier), team_(team) {}

  int workers() const override { return threads_; }
  void run(int64_t tasks, FunctionRef<void(int64_t, int)> task) override {
    for (int64_t i = thread_; i < tasks; i += threads_) task(i, thread_);
    if (threads_ > 1) barrier_(team_);
  }

 private:
  const int thread_, threads_;
  void (*const barrier_)(void*);
  void* const team_;
};

}  // namespace hiss::ggml
