// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "hiss/executor.h"
#include "hiss/machine.h"

namespace hiss {
namespace {

// The caller is worker 0. The others sleep on a condition variable between jobs and take tasks from
// a shared counter, so a slow task does not hold up the rest.
class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads) {
    for (int worker = 1; worker < threads; ++worker)
      threads_.emplace_back([this, worker] { serve(worker); });
  }
  ~ThreadPool() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int workers() const override { return static_cast<int>(threads_.size()) + 1; }

  void run(int64_t tasks, FunctionRef<void(int64_t, int)> task) override {
    if (threads_.empty() || tasks <= 1) {
      for (int64_t i = 0; i < tasks; ++i) task(i, 0);
      return;
    }
    {
      std::lock_guard lock(mutex_);
      task_ = &task;
      tasks_ = tasks;
      next_.store(0, std::memory_order_relaxed);
      active_ = static_cast<int>(threads_.size());
      ++job_;
    }
    wake_.notify_all();
    take_tasks(task, tasks, 0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return active_ == 0; });
  }

 private:
  void take_tasks(FunctionRef<void(int64_t, int)> task, int64_t tasks, int worker) {
    for (int64_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < tasks;) task(i, worker);
  }

  void serve(int worker) {
    int64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || job_ != seen; });
      if (stopping_) return;
      seen = job_;
      const auto* task = task_;
      const int64_t tasks = tasks_;
      lock.unlock();
      take_tasks(*task, tasks, worker);
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  const FunctionRef<void(int64_t, int)>* task_ = nullptr;  // of the current job, under mutex_
  int64_t tasks_ = 0, job_ = 0;
  int active_ = 0;  // workers that have not finished the current job
  bool stopping_ = false;
  alignas(64) std::atomic<int64_t> next_{0};
};

class SerialExecutor final : public Executor {
 public:
  int workers() const override { return 1; }
  void run(int64_t tasks, FunctionRef<void(int64_t, int)> task) override {
    for (int64_t i = 0; i < tasks; ++i) task(i, 0);
  }
};

}  // namespace

std::unique_ptr<Executor> make_thread_pool(int threads) {
  return std::make_unique<ThreadPool>(threads > 0 ? threads : std::max(1, this_machine().cores));
}

Executor& serial_executor() {
  static SerialExecutor executor;
  return executor;
}

}  // namespace hiss
