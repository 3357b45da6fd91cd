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
  double copied_bytes = 0;    // read and written, between buffers larger than any cache
};
Peaks measure_peaks();

// The same of all the executor's threads at once, by the wall's clock: what they leave one another.
struct PeaksTogether {
  int threads;
  double multiply_adds, copied_bytes;
};
PeaksTogether measure_peaks_together(Executor& executor);

// Bytes read and written a second on all the executor's threads together, by copying between two
// buffers or within one, that take `footprint` bytes: what is small stays in a cache, as it does
// for an operator of that size.
double measure_moving(int64_t footprint, bool in_place, Executor& executor);

}  // namespace hiss::bench
