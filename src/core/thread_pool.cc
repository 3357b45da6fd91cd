// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "hiss/executor.h"
#include "hiss/machine.h"

namespace hiss {
namespace {

// Tells the core that this is a wait.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Calls `ready` until it is true, for as long as a thread takes to be woken up. Jobs that follow
// one another, as those of a network's layers do, then find everybody awake.
template <class Ready>
void spin(Ready&& ready) {
  constexpr auto kLimit = std::chrono::microseconds(50);
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return;
      relax();
    }
  } while (std::chrono::steady_clock::now() - begin < kLimit);
}

// The caller is worker 0. Worker w begins with task w, so that jobs that are cut into as many tasks
// as there are workers find the same memory in the same cores' caches; then all take from a shared
// counter, so a slow task does not hold up the rest; then what a late worker has not begun. Between
// jobs they spin a little, then sleep on a condition variable. A worker that comes when all tasks
// are taken is not waited for.
class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads) : first_(static_cast<size_t>(threads)) {
    for (int worker = 1; worker < threads; ++worker)
      threads_.emplace_back([this, worker] { serve(worker); });
  }
  ~ThreadPool() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      ++job_;
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
    int64_t asleep = 0;
    {
      std::lock_guard lock(mutex_);
      task_ = &task;
      tasks_ = tasks;
      next_.store(workers(), std::memory_order_relaxed);
      ++job_;
      asleep = asleep_;
    }
    for (int64_t i = 0; i < std::min(asleep, tasks - 1); ++i) wake_.notify_one();
    take_tasks(task, tasks, 0);
    {
      std::lock_guard lock(mutex_);
      task_ = nullptr;
    }
    spin([this] { return active_ == 0; });
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return active_ == 0; });
  }

 private:
  struct alignas(64) First {
    std::atomic<int64_t> job{0};  // the last in which a worker's first task was taken
  };

  void take_tasks(FunctionRef<void(int64_t, int)> task, int64_t tasks, int worker) {
    const int64_t job = job_;
    const auto take_first = [&](int64_t i) {
      if (i < tasks && first_[static_cast<size_t>(i)].job.exchange(job) != job) task(i, worker);
    };
    take_first(worker);
    for (int64_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < tasks;) task(i, worker);
    for (int64_t i = 0; i < workers(); ++i) take_first(i);
  }

  void serve(int worker) {
    int64_t seen = 0;
    while (true) {
      spin([&] { return job_ != seen; });
      std::unique_lock lock(mutex_);
      ++asleep_;
      wake_.wait(lock, [&] { return job_ != seen; });
      --asleep_;
      if (stopping_) return;
      seen = job_;
      if (task_ == nullptr) continue;
      const auto* task = task_;
      const int64_t tasks = tasks_;
      ++active_;
      lock.unlock();
      take_tasks(*task, tasks, worker);
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  // Changed under mutex_ only. Atomic is what spinning reads.
  const FunctionRef<void(int64_t, int)>* task_ = nullptr;  // of a job that can still be joined
  int64_t tasks_ = 0, asleep_ = 0;
  bool stopping_ = false;
  alignas(64) std::atomic<int64_t> job_{0};
  alignas(64) std::atomic<int> active_{0};  // workers in the current job
  alignas(64) std::atomic<int64_t> next_{0};
  std::vector<First> first_;  // by worker
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
