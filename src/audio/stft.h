// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "audio/fft.h"
#include "hiss/executor.h"
#include "hiss/status.h"

namespace hiss::audio {

// Frame geometry in samples.
struct StftSizes {
  int64_t n_fft = 320, hop = 40, win = 320;

  // Sizes given for `base_rate`, scaled to `rate` and made even: floor(p rate / base_rate), plus
  // one when odd, at least 2.
  static StftSizes scaled(const StftSizes& base, int64_t base_rate, int64_t rate);
};

// Short-time Fourier transform as RE-USE defines it: a frame is centred on each multiple of the
// hop, the signal is continued by reflection, the window is a periodic Hann, and spectra are log1p
// magnitude and phase.
//
// Phase follows the snapped-phase rule: a real or imaginary part below 1e-6 of the frame's largest
// magnitude counts as +0 before atan2. Frames that are symmetric by construction (the first, often
// the last) and the ends of every spectrum have no phase but rounding noise; without the rule two
// correct implementations feed the network numbers 2 pi apart.
class Stft {
 public:
  // kInvalidArgument: sizes that cannot be inverted (win above n_fft, hop above win / 2, odd n_fft
  // or a size below 1).
  static Result<Stft> create(const StftSizes& sizes);

  const StftSizes& sizes() const { return sizes_; }
  int64_t bins() const { return sizes_.n_fft / 2 + 1; }
  // 1 + floor(samples / hop); none for no samples.
  int64_t frames(int64_t samples) const { return samples == 0 ? 0 : 1 + samples / sizes_.hop; }

  // waveform [batch, samples] -> log_magnitude, phase [batch, frames, bins]. Fewer than n_fft / 2 +
  // 1 samples cannot be reflected: the end samples are repeated instead. The result does not depend
  // on the executor.
  void analyse(int64_t batch, int64_t samples, const float* waveform, float* log_magnitude,
               float* phase, Executor& executor);

  // log_magnitude, phase [batch, frames, bins] -> waveform [batch, samples], every sample of it.
  // Magnitudes are expm1(max(log_magnitude, 0)); a frame in which more than half of the bins are
  // zero is silenced (the sweep filter). Results beyond float's range are limited to it.
  // kInternal: a spectrum that is not finite.
  Status synthesise(int64_t batch, int64_t samples, const float* log_magnitude, const float* phase,
                    float* waveform, Executor& executor);

  // The same transform and its inverse as complex numbers, without the rules above:
  // waveform [batch, samples] <-> spectrum [batch, frames, bins].
  void transform(int64_t batch, int64_t samples, const float* waveform,
                 std::complex<float>* spectrum, Executor& executor);
  void invert(int64_t batch, int64_t samples, const std::complex<float>* spectrum, float* waveform,
              Executor& executor);

 private:
  // One worker's memory.
  struct Workspace {
    RealFft fft;
    std::vector<double> frame;                   // [n_fft]
    std::vector<std::complex<double>> spectrum;  // [bins]
    std::vector<double> sum, weight;             // a segment of the output
  };
  explicit Stft(const StftSizes& sizes);
  void prepare(const Executor& executor);
  // keep(row, workspace) for each frame, its spectrum in the workspace; row counts over the batch.
  template <class Keep>
  void for_each_frame(int64_t batch, int64_t samples, const float* waveform, Executor& executor,
                      Keep keep);
  // load(row, workspace) puts the samples of a frame into the workspace.
  template <class Load>
  void overlap_add(int64_t batch, int64_t samples, float* waveform, Executor& executor, Load load);
  bool synthesise_frame(const float* log_magnitude, const float* phase, Workspace& w) const;

  StftSizes sizes_;
  std::vector<double> window_;  // [n_fft]: win values of Hann, centred between zeros
  std::vector<std::unique_ptr<Workspace>> workspaces_;
};

}  // namespace hiss::audio
