// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hiss/executor.h"

namespace hiss::bench {

// What this machine can do at best on one thread, measured: what the bounds of a benchmark refer
// to. A second.
struct Peaks {
  double multiply_adds;       // F32, with the widest vectors
  double bf16_multiply_adds;  // BF16 pairs summed in F32; 0: no such instruction
  double exponentials;        // of the vector exp, in cache
};
Peaks measure_peaks();

// Bytes read and written a second by copying, on all the executor's threads, between buffers that
// take `bytes` together: what is small stays in a cache, as it does for an operator of that size.
double measure_copying(int64_t bytes, Executor& executor);

}  // namespace hiss::bench
