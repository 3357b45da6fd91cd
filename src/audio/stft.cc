// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/stft.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <string>

namespace hiss::audio {
namespace {

constexpr double kSnap = 1e-6;                // of the frame's largest magnitude
constexpr double kLeastWeight = 1e-8;         // window sums below it are not divided by
constexpr int64_t kFramesPerTask = 32;        // analysis
constexpr int64_t kHopsPerSegment = 128;      // synthesis; neighbours recompute n_fft / hop frames
constexpr double kLargestLogMagnitude = 100;  // e^100 is far above float and sums stay in double

int64_t scale_size(int64_t size, int64_t base_rate, int64_t rate) {
  const int64_t scaled = size * rate / base_rate;
  return std::max<int64_t>(2, scaled + scaled % 2);
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Where sample i of the continued signal lies in the signal itself.
int64_t continued(int64_t i, int64_t samples, int64_t pad) {
  if (samples <= pad) return std::clamp<int64_t>(i, 0, samples - 1);
  if (i < 0) return -i;
  return i < samples ? i : 2 * (samples - 1) - i;
}

double snapped(double part, double threshold) {
  return std::abs(part) < threshold ? 0.0 : part + 0.0;  // + 0.0: -0 becomes +0
}

float limited(double x) {
  constexpr double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(x, -kMax, kMax));
}

}  // namespace

StftSizes StftSizes::scaled(const StftSizes& base, int64_t base_rate, int64_t rate) {
  return {.n_fft = scale_size(base.n_fft, base_rate, rate),
          .hop = scale_size(base.hop, base_rate, rate),
          .win = scale_size(base.win, base_rate, rate)};
}

Result<Stft> Stft::create(const StftSizes& sizes) {
  if (sizes.hop < 1 || sizes.win < 2 * sizes.hop || sizes.n_fft < sizes.win || sizes.n_fft % 2) {
    return InvalidArgument("STFT sizes: got n_fft " + std::to_string(sizes.n_fft) + ", win " +
                           std::to_string(sizes.win) + ", hop " + std::to_string(sizes.hop) +
                           ", want an even n_fft >= win >= 2 hop > 0");
  }
  return Stft(sizes);
}

Stft::Stft(const StftSizes& sizes) : sizes_(sizes), window_(sizes.n_fft, 0.0) {
  const int64_t offset = (sizes.n_fft - sizes.win) / 2;
  for (int64_t i = 0; i < sizes.win; ++i) {
    const double turns = static_cast<double>(i) / static_cast<double>(sizes.win);
    window_[offset + i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * turns);
  }
}

void Stft::prepare(const Executor& executor) {
  while (static_cast<int>(workspaces_.size()) < executor.workers()) {
    workspaces_.push_back(std::make_unique<Workspace>(
        Workspace{.fft = RealFft(sizes_.n_fft),
                  .frame = std::vector<double>(sizes_.n_fft),
                  .spectrum = std::vector<std::complex<double>>(bins()),
                  .sum = std::vector<double>(kHopsPerSegment * sizes_.hop),
                  .weight = std::vector<double>(kHopsPerSegment * sizes_.hop)}));
  }
}

template <class Keep>
void Stft::for_each_frame(int64_t batch, int64_t samples, const float* waveform, Executor& executor,
                          Keep keep) {
  prepare(executor);
  const int64_t rows = frames(samples), groups = divide_up(rows, kFramesPerTask);
  const int64_t pad = sizes_.n_fft / 2;
  executor.run(batch * groups, [&](int64_t task, int worker) {
    const int64_t item = task / groups, first = task % groups * kFramesPerTask;
    const float* x = waveform + item * samples;
    Workspace& w = *workspaces_[worker];
    for (int64_t t = first; t < std::min(first + kFramesPerTask, rows); ++t) {
      const int64_t start = t * sizes_.hop - pad;
      for (int64_t i = 0; i < sizes_.n_fft; ++i) {
        w.frame[i] = window_[i] * x[continued(start + i, samples, pad)];
      }
      w.fft.forward(w.frame.data(), w.spectrum.data());
      keep(item * rows + t, w);
    }
  });
}

void Stft::analyse(int64_t batch, int64_t samples, const float* waveform, float* log_magnitude,
                   float* phase, Executor& executor) {
  for_each_frame(batch, samples, waveform, executor, [&](int64_t row, const Workspace& w) {
    double largest = 0;
    for (const auto& bin : w.spectrum) largest = std::max(largest, std::norm(bin));
    const double threshold = kSnap * std::sqrt(largest);
    for (int64_t f = 0; f < bins(); ++f) {
      const std::complex<double> bin = w.spectrum[f];
      log_magnitude[row * bins() + f] = static_cast<float>(std::log1p(std::sqrt(std::norm(bin))));
      phase[row * bins() + f] = static_cast<float>(
          std::atan2(snapped(bin.imag(), threshold), snapped(bin.real(), threshold)));
    }
  });
}

void Stft::transform(int64_t batch, int64_t samples, const float* waveform,
                     std::complex<float>* spectrum, Executor& executor) {
  for_each_frame(batch, samples, waveform, executor, [&](int64_t row, const Workspace& w) {
    std::copy(w.spectrum.begin(), w.spectrum.end(), spectrum + row * bins());
  });
}

// A task makes a segment of output samples from all frames that reach into it, in their order.
template <class Load>
void Stft::overlap_add(int64_t batch, int64_t samples, float* waveform, Executor& executor,
                       Load load) {
  prepare(executor);
  const int64_t rows = frames(samples), length = kHopsPerSegment * sizes_.hop;
  const int64_t segments = divide_up(samples, length), pad = sizes_.n_fft / 2;
  executor.run(batch * segments, [&](int64_t task, int worker) {
    const int64_t item = task / segments, begin = task % segments * length;
    const int64_t end = std::min(begin + length, samples);
    Workspace& w = *workspaces_[worker];
    std::fill(w.sum.begin(), w.sum.end(), 0.0);
    std::fill(w.weight.begin(), w.weight.end(), 0.0);
    const int64_t first = std::max<int64_t>(0, divide_up(begin - pad + 1, sizes_.hop));
    for (int64_t t = first; t < rows && t * sizes_.hop - pad < end; ++t) {
      load(item * rows + t, w);
      const int64_t start = t * sizes_.hop - pad;
      for (int64_t i = std::max(start, begin); i < std::min(start + sizes_.n_fft, end); ++i) {
        const double hann = window_[i - start];
        w.sum[i - begin] += hann * w.frame[i - start];
        w.weight[i - begin] += hann * hann;
      }
    }
    float* out = waveform + item * samples;
    for (int64_t i = begin; i < end; ++i) {
      const double weight = w.weight[i - begin];
      out[i] = limited(weight > kLeastWeight ? w.sum[i - begin] / weight : w.sum[i - begin]);
    }
  });
}

Status Stft::synthesise(int64_t batch, int64_t samples, const float* log_magnitude,
                        const float* phase, float* waveform, Executor& executor) {
  std::atomic<bool> finite = true;
  overlap_add(batch, samples, waveform, executor, [&](int64_t row, Workspace& w) {
    if (!synthesise_frame(log_magnitude + row * bins(), phase + row * bins(), w)) finite = false;
  });
  return finite ? Status() : Internal("the enhanced spectrum has values that are not finite");
}

void Stft::invert(int64_t batch, int64_t samples, const std::complex<float>* spectrum,
                  float* waveform, Executor& executor) {
  overlap_add(batch, samples, waveform, executor, [&](int64_t row, Workspace& w) {
    std::copy_n(spectrum + row * bins(), bins(), w.spectrum.begin());
    w.fft.inverse(w.spectrum.data(), w.frame.data());
  });
}

// Inverse transform of one spectrum into w.frame, the sweep filter applied.
bool Stft::synthesise_frame(const float* log_magnitude, const float* phase, Workspace& w) const {
  int64_t zeros = 0;
  for (int64_t f = 0; f < bins(); ++f) {
    if (!std::isfinite(log_magnitude[f]) || !std::isfinite(phase[f])) {
      std::fill(w.frame.begin(), w.frame.end(), 0.0);
      return false;
    }
    const double a = std::clamp<double>(log_magnitude[f], 0.0, kLargestLogMagnitude);
    zeros += a == 0.0;
    w.spectrum[f] = std::polar(std::expm1(a), static_cast<double>(phase[f]));
  }
  if (2 * zeros > bins()) {
    std::fill(w.frame.begin(), w.frame.end(), 0.0);
  } else {
    w.fft.inverse(w.spectrum.data(), w.frame.data());
  }
  return true;
}

}  // namespace hiss::audio
