// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <complex>
#include <cstdint>
#include <kissfft/kissfft.hh>
#include <vector>

namespace hiss::audio {

// Discrete Fourier transform of n real samples (n even, >= 2) in double, O(n log n) for every n:
// lengths with a large prime factor go through Bluestein's convolution with a chirp. Not
// thread-safe: one object a thread.
class RealFft {
 public:
  explicit RealFft(int64_t n);
  int64_t size() const { return 2 * half_; }
  int64_t bins() const { return half_ + 1; }
  // samples [n] -> bins [n/2 + 1]; the imaginary parts of the first and last bin are +0.
  void forward(const double* samples, std::complex<double>* bins);
  // bins [n/2 + 1] -> samples [n], scaled: inverse(forward(x)) = x. Imaginary parts of the first
  // and last bin are ignored.
  void inverse(const std::complex<double>* bins, double* samples);

 private:
  using Complex = std::complex<double>;
  // in [n/2] -> out [n/2], different memory.
  void complex_forward(const Complex* in, Complex* out);

  int64_t half_;
  std::vector<Complex> twiddle_;      // [n/2], exp(-2 pi i k / n)
  std::vector<Complex> time_, freq_;  // [n/2]
  kissfft<double> fft_;               // of n/2, or of Bluestein's convolution
  std::vector<Complex> chirp_;        // [n/2], exp(-pi i k^2 / (n/2)); empty: not Bluestein
  std::vector<Complex> chirp_freq_, padded_, convolved_;  // [convolution]
};

}  // namespace hiss::audio
