# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Makes training items on the device: speech, noise, room, damage, level.

All waveforms are [B, n] at one of RATES; `n` is the segment length in samples.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F

RATES = (8000, 16000, 24000, 48000)
SPEECH_RATE_WEIGHT = {
    48000: 4.0,
    24000: 2.2,
    16000: 4.0
}  # which bank serves an item, before per-source weights


def pick(weights, count):
  """Categorical draw [count] without a host synchronisation."""
  c = torch.cumsum(weights, 0)
  u = torch.rand(count, device=weights.device) * c[-1] * 0.999999
  return torch.searchsorted(c, u, right=True).clamp(max=len(weights) - 1)


def rms(x):
  return (x.square().mean(-1, keepdim=True) + 1e-12).sqrt()


def shape(x, response):
  """Applies a real frequency response [B or 1, n/2+1]."""
  return torch.fft.irfft(torch.fft.rfft(x) * response, n=x.shape[-1])


def convolve(x, h):
  """Linear convolution cut to the length of x."""
  n = x.shape[-1] + h.shape[-1]
  return torch.fft.irfft(torch.fft.rfft(x, n=n) * torch.fft.rfft(h, n=n), n=n)[:, :x.shape[-1]]


def fft_resample(x, n):
  m, k = x.shape[-1], n // 2 + 1
  spectrum = torch.fft.rfft(x)
  spectrum = spectrum[..., :k] if spectrum.shape[-1] >= k else F.pad(spectrum,
                                                                     (0, k - spectrum.shape[-1]))
  return torch.fft.irfft(spectrum, n=n) * (n / m)


class Bank:
  """Recordings of one true rate: a flat waveform on the device and a sampling weight per piece."""

  def __init__(self, pieces, device):  # pieces: (waveform [n], weight)
    self.flat = torch.cat([w for w, _ in pieces])
    self.length = torch.tensor([len(w) for w, _ in pieces], device=device)
    self.offset = torch.cumsum(self.length, 0) - self.length
    self.weight = torch.tensor([float(k) for _, k in pieces], device=device)

  def draw(self, count, n):
    fits = torch.where(self.length > n, self.weight, torch.zeros_like(self.weight))
    i = pick(fits, count)
    start = self.offset[i] + (torch.rand(count, device=self.flat.device) *
                              (self.length[i] - n)).long()
    return self.flat[start[:, None] + torch.arange(n, device=self.flat.device)]


class Mixer:
  """Draws (noisy, target) batches, both at an RMS level of the noisy item near `rms_dbfs`."""

  def __init__(self, speech, noise, device, rms_dbfs, seed=0):
    self.banks, self.noise_bank, self.device, self.rms_dbfs = speech, noise, device, rms_dbfs
    self.rng = np.random.default_rng(seed)
    self.harmonics = torch.arange(1, 13, device=device, dtype=torch.float32)[None, :, None]
    # real recordings, coloured noise, babble, hum and tones, clicks and knocks
    self.first = torch.tensor([0.48, 0.22, 0.20, 0.04, 0.06], device=device)
    self.second = torch.tensor([0.4, 0.25, 0.15, 0.1, 0.1], device=device)

  def uniform(self, count, low, high):
    return torch.empty(count, 1, device=self.device).uniform_(low, high)

  def chance(self, count, p):
    return torch.rand(count, 1, device=self.device) < p

  def curve(self, count, n, db, knots=8):
    """Smooth random gain over log frequency, [count, n/2+1], standard deviation `db` at the
    knots.
    """
    g = torch.randn(count, knots, device=self.device) * db
    k = n // 2 + 1
    f = torch.log2(1 + torch.arange(k, device=self.device) / k * 255) / 8 * (knots - 1)
    i = f.long().clamp(max=knots - 2)
    w = f - i
    return torch.exp((g[:, i] * (1 - w) + g[:, i + 1] * w) * 0.1151)

  def speech(self, count, rate, n, low=False):
    """Segments of one bank at one speed; `low` asks for material of a lower true rate."""
    rates = [r for r in self.banks if r >= rate]
    if low:
      rates = [r for r in self.banks if r < rate] or rates
    p = np.array([SPEECH_RATE_WEIGHT[r] for r in rates])
    source = int(self.rng.choice(rates, p=p / p.sum()))
    speed = float(self.rng.choice([0.775, 0.85, 0.925, 1.0, 1.0, 1.0, 1.075, 1.15]))
    return fft_resample(
        self.banks[source].draw(count,
                                int(round(n / rate * source * speed / 480)) * 480), n)

  def real_noise(self, count, rate, n):
    speed = float(self.rng.choice([0.7, 0.85, 1.0, 1.0, 1.2, 1.4]))
    draw = lambda: fft_resample(
        self.noise_bank.draw(count, int(n / rate * 48000 * speed / 480) * 480), n)
    x = draw()
    x = torch.where(self.chance(count, 0.3), x.flip(1), x)
    other = draw()
    x = x + self.chance(count, 0.35) * other * (rms(x) / rms(other)) * 10**(
        self.uniform(count, -10, 3) / 20)
    x = torch.where(self.chance(count, 0.25), convolve(x, self.room(count, rate)), x)
    return shape(x, self.curve(count, n, 5))

  def coloured(self, count, rate, n):
    """Sloped noise; half of it fan-like (narrow peaks), some with slow level changes."""
    t = torch.arange(n, device=self.device) / rate
    f = torch.arange(n // 2 + 1, device=self.device) * (rate / n)
    response = (f + 40).pow(-self.uniform(count, -0.3, 1.9)) * self.curve(count, n, 5)
    centre, width = self.uniform(3 * count, 60, min(4000,
                                                    rate * 0.45)), self.uniform(3 * count, 4, 120)
    peaks = (self.uniform(3 * count, 0, 6) * torch.exp(-((f - centre) / width)**2)).view(
        3, count, -1).sum(0)
    x = shape(torch.randn(count, n, device=self.device),
              response * (1 + peaks * self.chance(count, 0.5)))
    swell = 1 + self.uniform(count, 0, 0.9) * torch.sin(2 * math.pi * self.uniform(count, 0.2, 9) *
                                                        t + self.uniform(count, 0, 6.28))
    return x * torch.where(self.chance(count, 0.4), swell, torch.ones_like(swell))

  def babble(self, count, rate, n):
    x = 0
    for voices in (int(self.rng.integers(1, 5)), int(self.rng.integers(2, 5))):
      each = self.speech(count * voices, rate, n) * 10**(self.uniform(count * voices, -8, 0) / 20)
      x = x + each.view(voices, count, n).sum(0)
    x = torch.where(self.chance(count, 0.5), convolve(x, self.room(count, rate)), x)
    return shape(x, self.curve(count, n, 3))

  def hum(self, count, rate, n):
    t = torch.arange(n, device=self.device) / rate
    mains = torch.where(self.chance(count, 0.5), 50.0, 60.0) * torch.randint(
        1, 3, (count, 1), device=self.device)
    f = torch.where(self.chance(count, 0.6), mains, self.uniform(count, 40,
                                                                 500))[:, :, None] * self.harmonics
    level = torch.rand_like(f) * self.harmonics**-self.uniform(count, 0.2, 1.5)[:, :, None] * (
        f < rate * 0.48)
    return (torch.sin(2 * math.pi * f * t + torch.empty_like(f).uniform_(0, 6.28)) * level).sum(1)

  def clicks(self, count, rate, n):
    """Sparse impulses through short decaying resonances: knocks, clatter, keys."""
    impulses = torch.randn(count, n, device=self.device) * (torch.rand(
        count, n, device=self.device) < 10**self.uniform(count, 0, 1.6) / rate)
    t = torch.arange(int(0.06 * rate), device=self.device) / rate
    modes = 10**self.uniform(3 * count, 1.9, min(3.7, math.log10(rate * 0.45)))
    tone = (torch.sin(2 * math.pi * modes * t) * self.uniform(3 * count, 0, 1)).view(3, count,
                                                                                     -1).sum(0)
    decay = torch.exp(-t * 10**self.uniform(count, 1.8, 3.3))
    return convolve(impulses, decay * (torch.randn(count, len(t), device=self.device) * 0.3 + tone))

  def noise(self, count, rate, n):
    """One or two kinds of noise at RMS 1."""
    kinds = (self.real_noise, self.coloured, self.babble, self.hum, self.clicks)
    x = torch.stack([v / rms(v) for v in (kind(count, rate, n) for kind in kinds)])
    rows = torch.arange(count, device=self.device)
    second = 10**(self.uniform(count, -15, 0) / 20) * self.chance(count, 0.55)
    y = x[pick(self.first, count), rows] + second * x[pick(self.second, count), rows]
    return y / rms(y)

  def room(self, count, rate):
    """Impulse response [count, 0.7 s]: direct sound and an exponentially decaying tail, T60 0.1
    to 0.8 s.
    """
    n = int(0.7 * rate)
    t = torch.arange(n, device=self.device) / rate
    tail = torch.randn(count, n, device=self.device) * torch.exp(
        -6.9 * t / 10**self.uniform(count, -1, -0.1)) * (t > self.uniform(count, 0.001, 0.008))
    f = torch.arange(n // 2 + 1, device=self.device) * rate / n
    tail = shape(tail,
                 self.curve(count, n, 2) / (1 + (f / self.uniform(count, 2500, 12000))**2).sqrt())
    tail = tail / (tail.square().sum(-1, keepdim=True) +
                   1e-9).sqrt() * 10**(-self.uniform(count, -1, 14) / 20)
    tail[:, 0] += 1
    return tail

  def rumble(self, count, rate, n):
    """Low-frequency noise at RMS 1: everything below 20 to 100 Hz, or one narrow band at 8 to 30 Hz
    as buildings and microphone stands give it.
    """
    f = torch.arange(n // 2 + 1, device=self.device) * rate / n
    wide = (f > 4) / (1 + (f / self.uniform(count, 20, 100))**4)
    width = 10**self.uniform(count, 0, 0.9)
    narrow = torch.exp(-((f - self.uniform(count, 8, 30)) / width)**2) + 0.05 * wide
    x = shape(torch.randn(count, n, device=self.device),
              torch.where(self.chance(count, 0.5), narrow, wide))
    return x / rms(x)

  def room_tone(self, count, rate, n):
    """The steady hiss of a quiet room and its microphone at RMS 1."""
    f = torch.arange(n // 2 + 1, device=self.device) * rate / n
    x = shape(torch.randn(count, n, device=self.device),
              (f + 100).pow(-self.uniform(count, -0.2, 0.9)) * self.curve(count, n, 3))
    return x / rms(x)

  def damage(self, y):
    """Clipping 6 %, mu-law coding 4 %, lost 20 ms packets 4 % of items; the target stays whole."""
    count, n = y.shape
    peak = y.abs().amax(-1, keepdim=True) + 1e-9
    limit = peak * self.uniform(count, 0.25, 0.8)
    y = torch.where(self.chance(count, 0.06), torch.minimum(torch.maximum(y, -limit), limit), y)
    u = y / peak
    coded = torch.sign(u) * torch.log1p(255 * u.abs()) / math.log(256)
    coded = torch.round(coded * 127) / 127
    coded = torch.sign(coded) * (torch.exp(coded.abs() * math.log(256)) - 1) / 255 * peak
    y = torch.where(self.chance(count, 0.04), coded, y)
    packets = 100 if n % 100 == 0 else 1
    kept = (torch.rand(count, packets, device=self.device)
            > 0.06).to(y.dtype).repeat_interleave(n // packets, 1)
    return torch.where(self.chance(count, 0.04), y * kept, y)

  @torch.no_grad()
  def batch(self, rate, count, seconds):
    """Returns (noisy, target), each [count, seconds * rate]."""
    n, dev = int(seconds * rate), self.device
    groups = min(4, count)
    sizes = [count // groups + (g < count % groups) for g in range(groups)]
    x = torch.cat([
        self.speech(size, rate, n, low=rate > 16000 and g == 0 and self.rng.random() < 0.6)
        for g, size in enumerate(sizes)
    ])
    edge = int(0.01 * rate)
    window = torch.ones(n, device=dev)
    window[:edge] = torch.linspace(0, 1, edge, device=dev)
    window[-edge:] = window[:edge].flip(0)
    x = shape(x * window, self.curve(count, n, 1.5))
    t = torch.arange(n, device=dev) / n  # a stretch without speech in some items
    hole = torch.sigmoid(
        (self.uniform(count, 0.1, 0.35) - (t - self.uniform(count, 0, 1)).abs()) * 300)
    x = x * (1 - self.chance(count, 0.3) * hole)
    x = torch.where(self.chance(count, 0.25), convolve(x, self.room(count, rate)), x)
    x = x / rms(x)
    kind = torch.rand(count, 1, device=dev)  # 11 % clean, 12 % nearly clean
    snr = torch.where(kind < 0.77, self.uniform(count, -5, 20), self.uniform(count, 20, 45))
    # quiet rumble stays, loud rumble goes
    own = torch.rand(count, 1, device=dev) < torch.where(kind < 0.77, 0.5, 0.65)
    x = x + own * self.rumble(count, rate, n) * 10**(self.uniform(count, -34, -18) / 20)
    # recordings are not silent between the words: a target with that tone keeps the network from
    # cutting it out of clean input
    x = x + self.chance(count, 0.6) * self.room_tone(count, rate, n) * 10**(
        self.uniform(count, -62, -38) / 20)
    noise = self.noise(count, rate, n) * 10**(-snr / 20)
    loud = self.chance(count, 0.4) * self.rumble(count, rate,
                                                 n) * 10**(self.uniform(count, -14, 6) / 20)
    y = x + torch.where(kind < 0.77, noise + loud, noise) * (kind < 0.89)
    fraction = torch.arange(n // 2 + 1, device=dev) / (n // 2)
    low_pass = torch.sigmoid((self.uniform(count, 0.35, 0.95) - fraction) * 150)
    low_pass = torch.where(self.chance(count, 0.12), low_pass, torch.ones_like(low_pass))
    x, y = shape(x, low_pass), shape(y, low_pass)
    y = torch.where(kind < 0.89, self.damage(y), y)
    gain = 10**((self.rms_dbfs + 2.5 * torch.randn(count, 1, device=dev)) / 20) / rms(y)
    return y * gain, x * gain
