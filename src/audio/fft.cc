// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/fft.h"

#include <algorithm>
#include <bit>
#include <numbers>

namespace hiss::audio {
namespace {

// kissfft costs O(n p) in a prime factor p; from here on Bluestein's three transforms are cheaper.
constexpr int64_t kLargestDirectFactor = 61;

int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

int64_t transform_size(int64_t half) {
  if (largest_prime_factor(half) <= kLargestDirectFactor) return half;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * half - 1)));
}

std::complex<double> unit(double turns) { return std::polar(1.0, 2 * std::numbers::pi * turns); }

}  // namespace

RealFft::RealFft(int64_t n)
    : half_(n / 2),
      twiddle_(half_),
      time_(half_),
      freq_(half_),
      fft_(static_cast<size_t>(transform_size(half_)), false) {
  for (int64_t k = 0; k < half_; ++k) twiddle_[k] = unit(-static_cast<double>(k) / n);
  const int64_t size = transform_size(half_);
  if (size == half_) return;

  chirp_.resize(half_);
  chirp_freq_.resize(size);
  padded_.resize(size);
  convolved_.resize(size);
  for (int64_t k = 0; k < half_; ++k) {
    // k^2 modulo the period, so that the angle is exact for any length.
    chirp_[k] = unit(-static_cast<double>(k * k % (2 * half_)) / n);
    padded_[k] = padded_[(size - k) % size] = std::conj(chirp_[k]);
  }
  fft_.transform(padded_.data(), chirp_freq_.data());
  std::fill(padded_.begin(), padded_.end(), Complex());
}

void RealFft::complex_forward(const Complex* in, Complex* out) {
  if (chirp_.empty()) return fft_.transform(in, out);
  const int64_t size = static_cast<int64_t>(padded_.size());
  for (int64_t k = 0; k < half_; ++k) padded_[k] = in[k] * chirp_[k];
  fft_.transform(padded_.data(), convolved_.data());
  // The inverse transform is the forward one between two conjugations.
  for (int64_t k = 0; k < size; ++k) convolved_[k] = std::conj(convolved_[k] * chirp_freq_[k]);
  fft_.transform(convolved_.data(), padded_.data());
  const double scale = 1.0 / static_cast<double>(size);
  for (int64_t k = 0; k < half_; ++k) out[k] = std::conj(padded_[k]) * chirp_[k] * scale;
  std::fill(padded_.begin() + half_, padded_.end(), Complex());
}

void RealFft::forward(const double* samples, Complex* bins) {
  for (int64_t k = 0; k < half_; ++k) time_[k] = {samples[2 * k], samples[2 * k + 1]};
  complex_forward(time_.data(), freq_.data());
  bins[0] = freq_[0].real() + freq_[0].imag();
  bins[half_] = freq_[0].real() - freq_[0].imag();
  for (int64_t k = 1; k < half_; ++k) {
    const Complex mirror = std::conj(freq_[half_ - k]);
    const Complex even = 0.5 * (freq_[k] + mirror);
    const Complex odd = Complex(0, -0.5) * (freq_[k] - mirror);
    bins[k] = even + twiddle_[k] * odd;
  }
}

void RealFft::inverse(const Complex* bins, double* samples) {
  const double first = bins[0].real(), last = bins[half_].real();
  time_[0] = std::conj(Complex(0.5 * (first + last), 0.5 * (first - last)));
  for (int64_t k = 1; k < half_; ++k) {
    const Complex mirror = std::conj(bins[half_ - k]);
    const Complex even = 0.5 * (bins[k] + mirror);
    const Complex odd = 0.5 * (bins[k] - mirror) * std::conj(twiddle_[k]);
    time_[k] = std::conj(even + Complex(0, 1) * odd);
  }
  complex_forward(time_.data(), freq_.data());
  const double scale = 1.0 / static_cast<double>(half_);
  for (int64_t k = 0; k < half_; ++k) {
    samples[2 * k] = freq_[k].real() * scale;
    samples[2 * k + 1] = -freq_[k].imag() * scale;
  }
}

}  // namespace hiss::audio
