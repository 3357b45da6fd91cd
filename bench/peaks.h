// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace hiss::bench {

// What this machine can do at best on one thread, measured: what the shares of a benchmark refer
// to.
struct Peaks {
  double multiply_adds;  // F32, a second, with the widest vectors
  double copied_bytes;   // read and written, a second, between buffers larger than the caches
  double exponentials;   // of the vector exp, a second, in cache
};
Peaks measure_peaks();

}  // namespace hiss::bench
