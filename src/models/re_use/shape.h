// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "models/re_use/re_use.h"

namespace hiss::models::re_use {

// The sizes of one run: T frames and F bins, padded by two each, become T' x F' = tokens.
struct Shape {
  int64_t frames = 0, bins = 0;                // T, F
  int64_t padded_frames = 0, padded_bins = 0;  // T + 2, F + 2
  int64_t token_rows = 0, token_cols = 0;      // T', F'
  int64_t channels = 0;                        // d

  static constexpr int64_t kRowStride = 4, kColStride = 2;

  static Shape of(int64_t frames, int64_t bins, const ReUseConfig& config) {
    return {frames,
            bins,
            frames + 2,
            bins + 2,
            (frames + 1) / kRowStride + 1,
            (bins - 1) / kColStride + 1,
            config.channels};
  }
  bool operator==(const Shape&) const = default;
};

}  // namespace hiss::models::re_use
