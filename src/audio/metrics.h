// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "hiss/status.h"

// How near an estimate s' is to a reference s: mono signals of one length and rate, [n] each.
// kInvalidArgument: different lengths, no samples, a silent reference or samples that are not
// finite.
namespace hiss::audio {

// Scale-invariant signal-to-distortion ratio in dB (Le Roux et al. 2019, without mean removal):
// 10 log10(|a s|^2 / |s' - a s|^2), a = <s', s> / <s, s>. Limited to -200 ... 200 dB.
Result<double> si_sdr_db(std::span<const float> reference, std::span<const float> estimate);

// Segmental signal-to-noise ratio in dB: 10 log10(|s|^2 / |s' - s|^2) over segments of 30 ms with
// a hop of 7.5 ms, each limited to -10 ... 35 dB, averaged (Hansen & Pellom 1998, rectangular
// window). Segments without any reference signal are left out; a signal shorter than 30 ms is one
// segment.
Result<double> segmental_snr_db(std::span<const float> reference, std::span<const float> estimate,
                                int sample_rate);

// Log-spectral distance in dB: per frame the root mean square over the bins of the difference of
// the spectra in dB, averaged over frames. Frames: periodic Hann of the smallest power of two of
// at least 32 ms, hop a quarter, zeros after the end. A full-scale sine has magnitude 1; magnitudes
// are floored at 1e-8. Only frames of the reference within 40 dB of its loudest count.
Result<double> log_spectral_distance_db(std::span<const float> reference,
                                        std::span<const float> estimate, int sample_rate);

}  // namespace hiss::audio
