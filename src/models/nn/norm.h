// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace hiss::models {

// InstanceNorm2d's statistics: adds up `rows` results of RowMath::channel_sums, in order, and gives
// mean and scale = weight / sqrt(var + epsilon), [channels] each.
void finish_statistics(const double* sums, int64_t rows, int64_t channels, int64_t count,
                       const float* weight, double epsilon, float* mean, float* scale);

}  // namespace hiss::models
