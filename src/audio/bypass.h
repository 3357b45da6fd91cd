// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <complex>
#include <cstdint>

#include "audio/stft.h"
#include "hiss/executor.h"

namespace hiss::audio {

// Where a network changed almost nothing, its small errors are all it adds. This rule gives such
// places of the spectrum back as they came in. A model asks for it in its metadata (`bypass`), and
// is trained with it; without the key nothing is done.
//
// With D the spectrum of what the network removed and Y that of its input,
//
//   r = box(|D|^2) / box(|Y|^2)             box: mean over 2 bins + 1 by 2 frames + 1 cells
//   g = clamp( (high_db - 10 log10 r) / (high_db - low_db), 0, 1 )
//   output = network's output + inverse transform of g D
struct BypassRule {
  double low_db = -20, high_db = -14;  // all given back, nothing given back
  int64_t bins = 3, frames = 3;        // half sides of the box
};

// noisy [samples] is what the network was fed, clean [samples] its output, changed in place.
void bypass(const BypassRule& rule, Stft& stft, int64_t samples, const float* noisy, float* clean,
            Executor& executor);

// The factor g of each cell: removed, input [frames, bins] hold |D|^2 and |Y|^2; gain may be
// `removed`.
void bypass_gain(const BypassRule& rule, int64_t frames, int64_t bins, const float* removed,
                 const float* input, float* gain);

}  // namespace hiss::audio
