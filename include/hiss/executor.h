// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace hiss {

// A callable by reference: no ownership, no allocation. The callable must outlive the call.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Runs independent tasks. Implement it to lend hiss threads of your own.
class Executor {
 public:
  virtual ~Executor() = default;
  // The largest number of tasks that run at once, and one more than the largest `worker`.
  virtual int workers() const = 0;
  // Calls task(i, worker) once for each i in [0, tasks) and returns when all are done. Tasks that
  // run at the same time have different workers. Not re-entrant: a task does not call run().
  virtual void run(int64_t tasks, FunctionRef<void(int64_t task, int worker)> task) = 0;
};

// `threads` workers, the caller being one of them; idle workers sleep. 0: one a core.
std::unique_ptr<Executor> make_thread_pool(int threads);

// Everything on the calling thread.
Executor& serial_executor();

}  // namespace hiss
