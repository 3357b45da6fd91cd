// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

namespace hiss::audio {

// Windows below this level are treated as if they had it, so that near-silence is not blown up.
inline constexpr double kSilenceDbfs = -70.0;

// The factor that brings a window [n] to `rms_dbfs`, where 0 dBFS is a root mean square of 1:
// 10^(rms_dbfs / 20) / max(rms(window), 10^(kSilenceDbfs / 20)). Finite and above 0 for finite
// input.
double level_gain(std::span<const float> window, double rms_dbfs);

// Multiplies in place; results beyond float's range are limited to it.
void scale(std::span<float> window, double factor);

}  // namespace hiss::audio
