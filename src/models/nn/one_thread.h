// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Of OpenMP's run-time library, which oneDNN is built on; its header does not come with every
// compiler.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int);

namespace hiss::models {

// Keeps oneDNN on the calling thread, since the executor owns the parallelism, and leaves the
// caller's own setting as it was.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace hiss::models
