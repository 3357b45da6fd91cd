# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Scores of one estimate against its reference, both float64 [n] at `rate`."""
import os

import numpy as np
import onnxruntime
import speechmos
from pesq import pesq
from pystoi import stoi
from scipy.signal import butter, istft, resample_poly, sosfiltfilt, stft

DNSMOS_SAMPLES = 144160  # 9.01 s at 16 kHz
# P.835 calibration of the DNS Challenge: raw network score -> mean opinion score
DNSMOS_POLYNOMIALS = {
    "sig": (-0.08397278, 1.22083953, 0.0052439),
    "bak": (-0.13166888, 1.60915514, -0.39604546),
    "ovrl": (-0.06766283, 1.11546468, 0.04602535)
}
COLUMNS = ("pesq", "stoi", "stoi60", "estoi", "si_sdr", "lsd", "sig", "bak", "ovrl")


def si_sdr(estimate, reference):
  reference, estimate = reference - reference.mean(), estimate - estimate.mean()
  aligned = (estimate @ reference) / (reference @ reference + 1e-12) * reference
  return 10 * np.log10(
      (aligned @ aligned + 1e-12) / ((estimate - aligned) @ (estimate - aligned) + 1e-12))


def lsd(estimate, reference, rate):
  """Log-spectral distance in dB, 32 ms frames, floor 60 dB under the reference's loudest bin."""
  n = rate * 32 // 1000 // 2 * 2
  spectrum = lambda v: np.abs(
      np.fft.rfft(np.lib.stride_tricks.sliding_window_view(v, n)[::n // 4] * np.hanning(n), axis=1)
  )**2
  a, b = spectrum(reference), spectrum(estimate)
  floor = 1e-6 * a.max()
  return float(np.sqrt(((10 * np.log10(a + floor) - 10 * np.log10(b + floor))**2).mean(1)).mean())


def at_16k(x, rate):
  g = np.gcd(16000, rate)
  return resample_poly(x, 16000 // g, rate // g) if rate != 16000 else x


_session = None


def dnsmos(x):
  """DNSMOS P.835 of the first 9.01 s of x [n] at 16 kHz (repeated to that length if shorter).

  The network of the speechmos package; its P.808 network and its hop through longer files are left
  out for time.
  """
  global _session
  if _session is None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    path = os.path.join(os.path.dirname(speechmos.__file__), "dnsmos_models", "sig_bak_ovr.onnx")
    _session = onnxruntime.InferenceSession(path, options)
  piece = np.resize(x, DNSMOS_SAMPLES).astype(np.float32)
  raw = _session.run(None, {"input_1": piece[None]})[0][0]
  return {k: np.polyval(DNSMOS_POLYNOMIALS[k], v) for k, v in zip(("sig", "bak", "ovrl"), raw)}


def ideal(noisy, reference, rate):
  """A Wiener filter that knows speech and noise, 32 ms frames: a bound for what gains can do."""
  n = rate * 32 // 1000 // 2 * 2
  y, x, d = (stft(v, rate, nperseg=n, noverlap=n * 3 // 4)[2]
             for v in (noisy, reference, noisy - reference))
  gain = np.abs(x)**2 / (np.abs(x)**2 + np.abs(d)**2 + 1e-12)
  return istft(gain * y, rate, nperseg=n, noverlap=n * 3 // 4)[1][:len(noisy)]


def without_rumble(x, rate):
  return sosfiltfilt(butter(4, 60, "high", fs=rate, output="sos"), x)


def scores(estimate, reference, rate, listened):
  """listened: also PESQ at 16 kHz, DNSMOS P.835, which takes most of the time, and STOI without
  what lies below 60 Hz in both ("stoi60").
  """
  out = {
      "stoi": stoi(reference, estimate, rate),
      "estoi": stoi(reference, estimate, rate, extended=True),
      "si_sdr": si_sdr(estimate, reference),
      "lsd": lsd(estimate, reference, rate)
  }
  a, b = (at_16k(v, rate).astype(np.float32) for v in (reference, estimate))
  if listened:
    out["pesq"] = pesq(16000, a, b, "wb")
    out["stoi60"] = stoi(without_rumble(reference, rate), without_rumble(estimate, rate), rate)
    out.update(dnsmos(np.clip(b, -1, 1)))
  return {k: float(v) for k, v in out.items()}
