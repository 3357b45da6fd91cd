// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cassert>
#include <cstdint>

namespace hiss::models {

// A channels-last feature map [rows, cols, channels] in somebody else's memory; rows are time,
// columns frequency, unless said otherwise. `stride` floats from one column to the next: a map may
// be a run of channels of a wider one.
struct Map {
  float* data = nullptr;
  int64_t rows = 0, cols = 0, channels = 0, stride = 0;

  float* row(int64_t r) const { return data + r * cols * stride; }
  Map slice(int64_t first_channel, int64_t count) const {
    assert(first_channel + count <= channels);
    return {data + first_channel, rows, cols, count, stride};
  }
};

}  // namespace hiss::models
