// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

namespace hiss::bench {

struct Times {
  double median_ms, spread;  // spread: of the middle half, over the median
};

// What `calls` launches need one after another in the stream, from a CUDA graph of all of them, per
// launch. Over about 25 ms of device time.
Times time_replayed(int64_t calls, const std::function<void(int64_t)>& launch, cudaStream_t stream);

// How many sets of `bytes` rotate, so that no L2 holds what is read again.
int64_t rotating_sets(int64_t bytes);

}  // namespace hiss::bench
