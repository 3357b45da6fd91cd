# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Scores of one estimate against its reference, both float64 [n] at `rate`."""
import numpy as np
from pesq import pesq
from pystoi import stoi
from scipy.signal import resample_poly
from speechmos import dnsmos

COLUMNS = ("pesq", "stoi", "estoi", "si_sdr", "lsd", "sig", "bak", "ovrl")


def si_sdr(estimate, reference):
  reference, estimate = reference - reference.mean(), estimate - estimate.mean()
  aligned = (estimate @ reference) / (reference @ reference + 1e-12) * reference
  return 10 * np.log10((aligned @ aligned + 1e-12) / ((estimate - aligned) @ (estimate - aligned) + 1e-12))


def lsd(estimate, reference, rate):
  """Log-spectral distance in dB, 32 ms frames, floor 60 dB under the reference's loudest bin."""
  n = rate * 32 // 1000 // 2 * 2
  spectrum = lambda v: np.abs(np.fft.rfft(np.lib.stride_tricks.sliding_window_view(v, n)[::n // 4] * np.hanning(n), axis=1)) ** 2
  a, b = spectrum(reference), spectrum(estimate)
  floor = 1e-6 * a.max()
  return float(np.sqrt(((10 * np.log10(a + floor) - 10 * np.log10(b + floor)) ** 2).mean(1)).mean())


def at_16k(x, rate):
  g = np.gcd(16000, rate)
  return resample_poly(x, 16000 // g, rate // g) if rate != 16000 else x


def scores(estimate, reference, rate, full):
  """full: also PESQ (wide band at 16 kHz) and DNSMOS P.835, which take most of the time."""
  out = {"stoi": stoi(reference, estimate, rate), "estoi": stoi(reference, estimate, rate, extended=True),
         "si_sdr": si_sdr(estimate, reference), "lsd": lsd(estimate, reference, rate)}
  if full:
    a, b = (at_16k(v, rate).astype(np.float32) for v in (reference, estimate))
    out["pesq"] = pesq(16000, a, b, "wb")
    mos = dnsmos.run(np.clip(b, -1, 1), 16000)
    out.update(sig=mos["sig_mos"], bak=mos["bak_mos"], ovrl=mos["ovrl_mos"])
  return {k: float(v) for k, v in out.items()}
