// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hiss/status.h"

namespace hiss::ggml {

// What of an SSM_SCAN is prepared on the device, where its list of rows lies: starts (sequences,
// row_floats) = rows row_of[q] of cache (rows, row_floats, row_stride floats apart), zeros for an
// index outside; and token[i] = first_token + i.
struct Starts {
  const float* cache;
  int64_t rows, row_floats, row_stride;
  const int32_t* row_of;
  int64_t index_stride, sequences;
  float* starts;
  int64_t* token;
  int64_t first_token, tokens;
};

// Launches into a cudaStream_t. kInternal: the launch was refused.
Status gather_starts(const Starts& starts, void* stream);

}  // namespace hiss::ggml
