#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Mixes the held-out test set: voices and noises the bundled model never trained on, noise at 0 to
10 dB.

  make_heldout.py --src SRC --out OUT

SRC as for training/prepare_data.py (x/<Debian package>, git/ohf). These recordings are used for
measuring only, so
packages with copyleft licences may serve; nothing of them is kept. Writes
OUT/<rate>/{noisy,clean}/<nn>.wav, 16 bit.
"""
import argparse
import glob
import os
import subprocess

import numpy as np
import soundfile
from scipy.signal import resample_poly

SECONDS = 4
ITEMS = {8000: 6, 16000: 8, 44100: 4, 48000: 6}
NARROW = [
    "x/asterisk-core-sounds-en-g722/**/*.g722", "x/asterisk-core-sounds-fr-g722/**/*.g722",
    "x/asterisk-core-sounds-es-g722/**/*.g722"
]
WIDE = [
    "x/tuxpaint-stamps-default/**/*_desc_ro.ogg", "x/tuxpaint-stamps-default/**/*_desc_bg.ogg",
    "git/ohf/*/cadu/*.mp3", "git/ohf/*/gosia/*.mp3", "git/ohf/*/mihai/*.mp3", "git/ohf/*/lili/*.mp3"
]
NOISE = [
    "x/unknown-horizons/**/sounds/tavern.ogg", "x/minetest-data/**/fire_large.ogg",
    "x/unknown-horizons/**/sounds/main_square.ogg", "x/minetest-data/**/env_sounds_water.1.ogg",
    "x/searchandrescue-data/**/sounds/helicopter*.wav", "x/unknown-horizons/**/sounds/smith.ogg",
    "x/minetest-data/**/carts_cart_moving.1.ogg", "x/bucklespring-data/**/wav/1*.wav"
]


def read(path, rate):
  if path.endswith(".g722"):
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "f32le", "-ac", "1", "-"],
                         capture_output=True,
                         check=True)
    x, file_rate = np.frombuffer(raw.stdout, np.float32), 16000
  else:
    x, file_rate = soundfile.read(path, dtype="float32", always_2d=True)
    x = x.mean(1)
  g = np.gcd(rate, file_rate)
  return resample_poly(x, rate // g, file_rate // g) if file_rate != rate else x


def speech(src, pattern, rate, rng):
  """SECONDS of one voice: clips in random order, each with its active part at -26 dBFS."""
  files = sorted(glob.glob(os.path.join(src, pattern), recursive=True))
  rng.shuffle(files)
  n, pieces, total = SECONDS * rate, [], 0
  for path in files:
    x = read(path, rate)
    if len(x) < rate // 2:
      continue
    frames = x[:len(x) // (rate // 50) * (rate // 50)].reshape(-1, rate // 50)
    power = (frames**2).mean(1)
    x = x * 10**(-26 / 20) / np.sqrt(power[power > power.max() * 10**-2.5].mean() + 1e-12)
    pieces += [x, np.zeros(rate // 5, np.float32)]
    total += len(x) + rate // 5
    if total >= n:
      break
  x = np.concatenate(pieces)
  return np.pad(x, (0, max(0, n - len(x))))[:n]


def noise(src, pattern, rate, rng):
  files = sorted(glob.glob(os.path.join(src, pattern), recursive=True))
  n = SECONDS * rate
  if "bucklespring" in pattern:  # single keys: typing
    y, t = np.zeros(n), 0.1
    while t < SECONDS - 0.6:
      key = read(files[rng.integers(len(files))], rate)[:n - int(t * rate)]
      y[int(t * rate):int(t * rate) + len(key)] += key
      t += rng.choice([0.09, 0.14, 0.2, 0.35])
    return y
  x = read(files[rng.integers(len(files))], rate)
  x = np.tile(x, int(np.ceil((n + 1) / len(x))))
  start = rng.integers(len(x) - n)
  return x[start:start + n]


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--src", required=True)
  parser.add_argument("--out", required=True)
  args = parser.parse_args()
  rng = np.random.default_rng(7)
  for rate, count in ITEMS.items():
    voices = NARROW + WIDE[2:] if rate <= 16000 else WIDE
    for kind in ("noisy", "clean"):
      os.makedirs(f"{args.out}/{rate}/{kind}", exist_ok=True)
    for i in range(count):
      x = speech(args.src, voices[i % len(voices)], rate, rng)
      d = noise(args.src, NOISE[(i + 3 * (rate > 16000)) % len(NOISE)], rate, rng)
      snr = 10 * (i + 0.5) / count
      d = d * np.sqrt((x**2).mean() / ((d**2).mean() + 1e-12)) * 10**(-snr / 20)
      scale = min(1.0, 0.98 / np.abs(x + d).max())
      for kind, wave in (("noisy", x + d), ("clean", x)):
        soundfile.write(f"{args.out}/{rate}/{kind}/{i:02d}.wav",
                        wave * scale,
                        rate,
                        subtype="PCM_16")


if __name__ == "__main__":
  main()
