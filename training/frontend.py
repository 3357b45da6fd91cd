# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""The waveform side of the enhancer: level, STFT features, synthesis and the bypass of what the
network left alone.

This is the plain definition of what `hiss enhance` does with one window; training and evaluation
import it.
Shapes: waveforms [B, n], spectra and features [B, F, T].
"""
import torch
import torch.nn.functional as F

BASE = {"n_fft": 320, "hop_size": 40, "win_size": 320, "sampling_rate": 8000, "sfi": True}
SNAP = 1e-6  # parts of a bin below this share of the frame's largest magnitude count as +0
SILENCE = 1e-5  # windows whose RMS is below this are not scaled


def stft_params(rate):
  """(n_fft, hop, win) in samples: the 8 kHz values scaled by the rate, rounded down, then up to
  even.
  """
  return [q + (q & 1) for q in (p * rate // 8000 for p in (320, 40, 320))]


def stft(y, rate):
  n_fft, hop, win = stft_params(rate)
  window = torch.hann_window(win, dtype=y.dtype, device=y.device)
  return torch.stft(y,
                    n_fft,
                    hop,
                    win,
                    window,
                    center=True,
                    pad_mode="reflect",
                    return_complex=True)


def istft(s, rate, length):
  n_fft, hop, win = stft_params(rate)
  window = torch.hann_window(win, dtype=s.real.dtype, device=s.device)
  y = torch.istft(s, n_fft, hop, win, window, center=True)
  return F.pad(y, (0, max(0, length - y.shape[-1])))[..., :length]


def snapped_phase(s):
  """Angle of the spectrum with rounding noise removed, so that it does not depend on the FFT
  used.
  """
  limit = SNAP * s.abs().amax(1, keepdim=True)
  zero = torch.zeros((), dtype=s.real.dtype, device=s.device)
  re = torch.where(s.real.abs() < limit, zero, s.real)
  im = torch.where(s.imag.abs() < limit, zero, s.imag)
  return torch.atan2(im, re)


def features(s):
  """Spectrum -> (log1p magnitude, phase)."""
  return torch.log1p(s.abs()), snapped_phase(s)


def sweep_filter(log_mag):
  """expm1(relu(.)), with frames zeroed of which more than half of the bins are exactly zero."""
  mag = torch.expm1(F.relu(log_mag))
  dead = (mag == 0).to(mag.dtype).mean(1, keepdim=True) > 0.5
  return torch.where(dead, torch.zeros_like(mag), mag)


def box(power, bins, frames):
  """Mean of [B, F, T] over a window of 2*bins+1 by 2*frames+1, smaller at the edges."""
  return F.avg_pool2d(power[:, None], (2 * bins + 1, 2 * frames + 1),
                      1, (bins, frames),
                      count_include_pad=False)[:, 0]


def bypass(noisy, clean, rule):
  """Returns clean + g (noisy - clean): the input itself where the network changed almost nothing.

  noisy, clean: consistent spectra. g falls from 1 to 0 while the local ratio of removed to input
  power
  rises from rule["low_db"] to rule["high_db"]; both powers are means over a box of bins and frames.
  """
  removed = noisy - clean
  power = lambda s: s.real.square() + s.imag.square()
  ratio = (box(power(removed), rule["bins"], rule["frames"]) +
           1e-12) / (box(power(noisy), rule["bins"], rule["frames"]) + 1e-12)
  gain = ((rule["high_db"] - 10 * torch.log10(ratio)) / (rule["high_db"] - rule["low_db"])).clamp(
      0, 1)
  return clean + gain * removed


def level(y, rms_dbfs):
  """Gain [B, 1] that brings each window to the RMS level; 1 for silence or without a level."""
  rms = y.square().mean(-1, keepdim=True).sqrt()
  if rms_dbfs is None:
    return torch.ones_like(rms)
  return torch.where(rms > SILENCE, 10**(rms_dbfs / 20) / rms.clamp(min=SILENCE),
                     torch.ones_like(rms))


@torch.no_grad()
def enhance(network, y, rate, rms_dbfs=None, rule=None):
  """One window [B, n] through level, features, network, synthesis and bypass."""
  gain = level(y, rms_dbfs)
  spectrum = stft(y * gain, rate)
  log_mag, phase = network(*features(spectrum))
  out = istft(torch.polar(sweep_filter(log_mag), phase), rate, y.shape[-1])
  if rule:
    out = istft(bypass(spectrum, stft(out, rate), rule), rate, y.shape[-1])
  return out / gain


def enhance_file(network, y, rate, rms_dbfs=None, rule=None, seconds=5.0, overlap=0.05):
  """A whole mono file [n] in windows of `seconds` with cross-faded overlap, as the session of
  hiss does.
  """
  size = int(seconds * rate)
  shared = min(max(int(size * overlap), 0), size - 1)
  step = max(1, size - shared)
  total, weight = torch.zeros_like(y), torch.zeros_like(y)
  start = 0
  while start < len(y):
    last = not (len(y) - start >= size and len(y) - start > step)
    piece = y[start:] if last else y[start:start + size]
    n = len(piece)
    v = min(shared, n - 1)
    w = torch.ones(n, dtype=y.dtype)
    ramp = torch.sin(torch.pi / 2 * torch.arange(v, dtype=y.dtype) / max(v, 1))**2
    if not last and v:
      w[n - v:] = 1 - ramp
    if start and v:
      w[:v] = ramp
    total[start:start + n] += w * enhance(network, piece[None], rate, rms_dbfs, rule)[0]
    weight[start:start + n] += w
    if last:
      break
    start += step
  return torch.where(weight > 1e-8, total / weight.clamp(min=1e-8), torch.zeros_like(total))
