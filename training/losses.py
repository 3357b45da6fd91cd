# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Training losses on the network's spectrum, on the waveform it gives and on the waveform after
the bypass.
"""
import torch
import torch.nn.functional as F

import frontend
import perceptual

WEIGHTS = {
    "mag": 0.2,
    "complex": 0.05,
    "phase": 0.2,
    "snr": 0.04,
    "compressed": 1.0,
    "disturbance": 0.3,
    "envelope": 0.5
}
OVER_SUPPRESSION = 1.5  # what the error of a magnitude that came out too small counts in addition
MAX_LOG_MAG = 11.0
_envelopes = {}


def istft(s, rate, n):
  """Inverse STFT for rates whose window is a whole number of hops; unlike torch.istft it can be
  captured in a graph.
  """
  n_fft, hop, win = frontend.stft_params(rate)
  count, _, frames = s.shape
  k = n_fft // hop
  window = torch.hann_window(win, device=s.device)
  pieces = (torch.fft.irfft(s.transpose(1, 2), n=n_fft) * window).view(count, frames, k, hop)
  y = sum(F.pad(pieces[:, :, j], (0, 0, j, k - 1 - j)) for j in range(k)).reshape(count, -1)
  if (rate, frames) not in _envelopes:
    e = (window * window).view(1, k, hop).expand(frames, k, hop)
    e = sum(F.pad(e[:, j], (0, 0, j, k - 1 - j)) for j in range(k)).reshape(1, -1)
    _envelopes[rate, frames] = e.clamp(min=1e-6)
  return (y / _envelopes[rate, frames])[:, n_fft // 2:n_fft // 2 + n]


def waveform(mag, cos, sin, rate, n):
  """Network output -> waveform, without the sweep filter (which has no useful gradient)."""
  m = torch.expm1(F.relu(mag).clamp(max=MAX_LOG_MAG))
  return istft(torch.complex(m * cos, m * sin), rate, n)


def after_bypass(spectrum, z, rule, rate):
  """The waveform hiss gives: the network's z [B, n] with the bypass of frontend.bypass."""
  return istft(frontend.bypass(spectrum, frontend.stft(z, rate), rule), rate, z.shape[-1])


def noise_to_signal_db(z, x, y, floor):
  error = (z - x).square().sum(-1)
  power = x.square().sum(-1) + 1e-3 * y.square().sum(-1) + 1e-7
  return (10 * torch.log10(error / power + floor)).mean()


def compressed_error(z_spectrum, x_spectrum, gain):
  """Power-law (0.3) magnitude and complex error of re-analysed waveforms; removed speech weighs
  more than noise that stayed.
  """

  def compress(s):
    s = s * gain
    q = s.real.square() + s.imag.square() + 1e-3
    return q.pow(0.15), s * q.pow(-0.35)

  (m1, c1), (m2, c2) = compress(x_spectrum), compress(z_spectrum)
  lost = m1 - m2
  return (lost.square() + OVER_SUPPRESSION * F.relu(lost).square()).mean() + 0.4 * (
      c1 - c2).abs().square().mean()


def loss(output, spectrum, y, x, rate, rule):
  """output: (mag, cos, sin); spectrum: STFT of y. Returns (total, detached terms [8])."""
  mag, cos, sin = output
  target = frontend.stft(x, rate)
  target_abs = target.abs()
  unit = target / (target_abs + 1e-9)
  log_target = torch.log1p(target_abs)
  l_mag = (mag - log_target).square().mean()
  l_complex = (mag * cos - log_target * unit.real).square().mean() + (
      mag * sin - log_target * unit.imag).square().mean()
  l_phase = (log_target * (1 -
                           (cos * unit.real + sin * unit.imag))).sum() / (log_target.sum() + 1e-3)
  gain = 1 / (x.square().mean(-1, keepdim=True).sqrt().clamp(min=0.1))[..., None]
  z = waveform(mag, cos, sin, rate, x.shape[-1])
  z2 = after_bypass(spectrum, z, rule, rate)
  snr, snr2 = noise_to_signal_db(z, x, y, 1e-3), noise_to_signal_db(z2, x, y, 3e-4)
  comp = compressed_error(frontend.stft(z, rate), target, gain)
  comp2 = compressed_error(frontend.stft(z2, rate), target, gain)
  heard, envelope = (e.mean() for e in perceptual.errors(z2, x, rate))
  total = (WEIGHTS["mag"] * l_mag + WEIGHTS["complex"] * l_complex + WEIGHTS["phase"] * l_phase +
           WEIGHTS["snr"] * 0.5 * (snr + snr2) + WEIGHTS["compressed"] * 0.5 * (comp + comp2) +
           WEIGHTS["disturbance"] * heard + WEIGHTS["envelope"] * envelope)
  return total, torch.stack([l_mag, l_complex, l_phase, snr, snr2, comp2, heard,
                             envelope]).detach()
