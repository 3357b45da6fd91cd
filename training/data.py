# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Reads the packed banks (see pack_data.py) onto the device."""
import glob
import json
import math
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torch.nn.functional as F

import mixer

OPUS_RATE = 48000


def decimate(x, factor):
  """Windowed-sinc low-pass and decimation of a long waveform [n], a minute at a time."""
  if factor == 1:
    return x
  half, chunk = 32 * factor, OPUS_RATE * 60
  t = torch.arange(-half, half + 1, device=x.device, dtype=torch.float32)
  h = torch.sinc(t / factor * 0.97) * 0.97 / factor * (0.5 + 0.5 * torch.cos(math.pi * t /
                                                                             (half + 1)))
  out = []
  for c in range(0, len(x), chunk):
    a = max(0, c - half)
    piece = F.pad(x[a:c + chunk + half], (half - (c - a), half))
    out.append(
        F.conv1d(piece[None, None], h[None, None], stride=factor)[0, 0][:min(chunk,
                                                                             len(x) - c) // factor])
  return torch.cat(out)


def load_banks(folder, device):
  """Returns ({rate: Bank of speech}, Bank of noise) from folder/*.opus, folder/bank.json and the
  decoder folder/opus_decode.
  """
  with open(folder + "/bank.json", encoding="utf-8") as f:
    index = json.load(f)
  decoder = folder + "/opus_decode"
  os.chmod(decoder, 0o755)

  def decode(path):
    raw = "_" + os.path.basename(path) + ".s16"
    subprocess.run([decoder, path, raw], check=True)
    samples = torch.from_numpy(np.fromfile(raw, np.int16))
    os.remove(raw)
    return samples

  files = sorted(glob.glob(folder + "/*.opus"))
  with ThreadPoolExecutor(16) as pool:
    waves = list(pool.map(decode, files))
  speech, noise = {}, []
  for path, wave in zip(files, waves):
    entry = index[os.path.basename(path).rsplit(".", 2)[0]]
    wave = wave.to(device).float() / 32768
    piece = (decimate(wave, OPUS_RATE // entry["rate"]), entry["weight"] / entry["pieces"])
    (speech.setdefault(entry["rate"], []) if entry["speech"] else noise).append(piece)
  return {r: mixer.Bank(v, device) for r, v in speech.items()}, mixer.Bank(noise, device)


def load_validation(path, device):
  """{rate: (noisy, target)} from an npz with y<rate> and x<rate>."""
  z = np.load(path)
  rates = sorted(int(k[1:]) for k in z.files if k[0] == "y")
  return {r: tuple(torch.from_numpy(z[f"{k}{r}"]).to(device).float() for k in "yx") for r in rates}
