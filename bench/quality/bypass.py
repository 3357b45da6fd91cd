# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""The bypass rule of training/frontend.py on whole files, in NumPy: for programs that do not
apply it themselves.
"""
import numpy as np
from scipy.ndimage import uniform_filter


def stft_params(rate):
  return [q + (q & 1) for q in (p * rate // 8000 for p in (320, 40))]


def stft(y, n_fft, hop):
  """Centred, reflect-padded, periodic Hann: [T, F]."""
  padded = np.pad(y, n_fft // 2, mode="reflect")
  frames = np.lib.stride_tricks.sliding_window_view(padded, n_fft)[::hop]
  return np.fft.rfft(frames * np.hanning(n_fft + 1)[:-1], axis=1)


def istft(s, n_fft, hop, length):
  window = np.hanning(n_fft + 1)[:-1]
  frames = np.fft.irfft(s, n=n_fft, axis=1) * window
  y, weight = (np.zeros((len(s) - 1) * hop + n_fft + length) for _ in range(2))
  for t, frame in enumerate(frames):
    y[t * hop:t * hop + n_fft] += frame
    weight[t * hop:t * hop + n_fft] += window**2
  return (y / np.maximum(weight, 1e-8))[n_fft // 2:n_fft // 2 + length]


def box(power, bins, frames):
  size = (2 * frames + 1, 2 * bins + 1)
  count = uniform_filter(np.ones_like(power), size, mode="constant")
  return uniform_filter(power, size, mode="constant") / count


def apply(noisy, clean, rate, rule):
  """noisy, clean [n] -> clean with what the network left alone replaced by the input."""
  n_fft, hop = stft_params(rate)
  y, s = stft(noisy, n_fft, hop), stft(clean, n_fft, hop)
  power = lambda v: v.real**2 + v.imag**2
  scale = 1e-12 * power(y).max()
  ratio = (box(power(y - s), rule["bins"], rule["frames"]) +
           scale) / (box(power(y), rule["bins"], rule["frames"]) + scale)
  gain = np.clip((rule["high_db"] - 10 * np.log10(np.maximum(ratio, 1e-30))) /
                 (rule["high_db"] - rule["low_db"]), 0, 1)
  return istft(s + gain * (y - s), n_fft, hop, len(noisy))
