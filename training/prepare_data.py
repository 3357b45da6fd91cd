#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Builds the speech and noise banks for training from the recordings named in sources.json.

  prepare_data.py --src SRC --out BANK

SRC holds x/<package>/ (dpkg-deb -x) and git/<checkout>/ (work trees); see get_sources.sh.
BANK gets wav/<name>.wav (mono, concatenated), val/<name>.wav (one file in 20, by hash of its name,
never in wav/) and report.json. Needs ffmpeg, numpy, scipy and soundfile.
"""
import argparse
import glob
import hashlib
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import soundfile
from scipy.io import wavfile
from scipy.signal import butter, resample_poly, sosfilt

HERE = os.path.dirname(os.path.abspath(__file__))
NOISE_RATE = 48000
# 95th minus 3rd percentile of 20 ms frame levels; files below it carry too much noise for a target
MIN_RANGE_DB = 29.0
SPEECH_DBFS = -26.0
VAL_SECONDS = 120.0


def decode(path, rate):
  """Returns the mono waveform [n] at `rate`, or None if the file cannot be read."""
  if path.endswith(".g722"):
    run = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "f32le", "-ac", "1", "-"],
                         capture_output=True,
                         check=False)
    x, file_rate = np.frombuffer(run.stdout, np.float32), 16000
  else:
    try:
      x, file_rate = soundfile.read(path, dtype="float32", always_2d=True)
    except RuntimeError:
      return None
    x = x.mean(1)
  if len(x) < file_rate // 20:
    return None
  g = np.gcd(rate, file_rate)
  return (x if rate == file_rate else resample_poly(x, rate // g, file_rate // g)).astype(
      np.float32)


def frame_levels(x, rate):
  """Levels of 20 ms frames in dBFS."""
  n = rate // 50
  m = len(x) // n
  return 10 * np.log10((x[:m * n].reshape(m, n)**2).mean(1) + 1e-12)


def speech_file(path, rate):
  """Returns (trimmed waveform at SPEECH_DBFS active level, dynamic range in dB), or None if
  unusable.
  """
  x = decode(path, rate)
  if x is None:
    return None
  x = sosfilt(butter(2, 50, "high", fs=rate, output="sos"), x).astype(np.float32)
  levels = frame_levels(x, rate)
  if len(levels) < 10 or (np.abs(x) > 0.995).mean() > 1e-3:
    return None
  top = np.percentile(levels, 95)
  if top < -60:
    return None
  loud = np.nonzero(levels > top - 40)[0]
  n = rate // 50
  x = x[max(0, loud[0] - 3) * n:(loud[-1] + 4) * n]  # 60 ms margin
  levels = frame_levels(x, rate)
  if len(x) < 0.25 * rate:
    return None
  active = levels[levels > top - 25]
  gain = 10**((SPEECH_DBFS - 10 * np.log10(np.mean(10**(active / 10)))) / 20)
  return x * gain, float(top - np.percentile(levels, 3))


def fade(x, rate, ms):
  n = min(len(x) // 2, rate * ms // 1000)
  ramp = np.linspace(0, 1, n, dtype=np.float32)
  x = x.copy()
  x[:n] *= ramp
  x[len(x) - n:] *= ramp[::-1]
  return x


def write_wav(path, x, rate):
  os.makedirs(os.path.dirname(path), exist_ok=True)
  x = x * min(1, 0.98 / (np.abs(x).max() + 1e-9))
  wavfile.write(path, rate, np.round(x * 32767).astype(np.int16))


def find(source, src):
  files = {f for g in source["globs"] for f in glob.glob(os.path.join(src, g), recursive=True)}
  return sorted(f for f in files if not any(e in f for e in source.get("exclude", [])))


def held(key, one_in):
  return int(hashlib.md5(os.path.basename(key).encode()).hexdigest(), 16) % one_in == 0


def speech_bank(source, src, out, pool):
  """Writes one speech source; returns its report entry."""
  rate = source["rate"]
  files = find(source, src)
  rng = np.random.default_rng(1)
  rng.shuffle(files)
  key = (lambda f: os.path.basename(f).rsplit("_", 1)[0]) if source.get("hold_by_phrase") else (
      lambda f: f)
  entry = {k: source[k] for k in ("name", "rate", "licence", "weight")}
  for part, cap in (("wav", source["minutes"] * 60), ("val", VAL_SECONDS)):
    pieces, total, used = [], 0.0, 0
    chosen = [f for f in files if held(key(f), 20) == (part == "val")]
    for i in range(0, len(chosen), 16):
      for item in pool.map(lambda f: speech_file(f, rate), chosen[i:i + 16]):
        if item is None or item[1] < source.get("min_range_db", MIN_RANGE_DB):
          continue
        pieces += [
            fade(item[0], rate, 8),
            np.zeros(int(rate * rng.uniform(0.02, 0.35)), np.float32)
        ]
        total += len(item[0]) / rate
        used += 1
      if total > cap:
        break
    if pieces:
      write_wav(f"{out}/{part}/{source['name']}.wav", np.concatenate(pieces), rate)
    entry[part] = {"files": used, "of": len(chosen), "seconds": round(total, 1)}
  return entry


def noise_bank(source, src, out):
  """Writes one noise source at 48 kHz; returns its report entry."""
  parts = {"wav": [], "val": []}
  for f in find(source, src):
    x = decode(f, NOISE_RATE)
    if x is None:
      continue
    x = x - x.mean()
    levels = frame_levels(x, NOISE_RATE)
    if len(levels) < 3 or levels.max() < -65:
      continue
    x = x[:source["seconds"] * NOISE_RATE]
    x = x * 10**((-26 - 10 * np.log10(np.mean(10**(levels[levels > levels.max() - 30] / 10)))) / 20)
    if len(x) < 4 * NOISE_RATE:
      x = np.tile(fade(x, NOISE_RATE, 20), int(np.ceil(4 * NOISE_RATE / len(x))))
    cut = len(x) - len(x) // 16  # the end of every file serves the progress check
    parts["wav"].append(fade(x[:cut], NOISE_RATE, 20))
    parts["val"].append(fade(x[cut:], NOISE_RATE, 20))
  entry = {k: source[k] for k in ("name", "licence", "weight")}
  for part, pieces in parts.items():
    y = np.concatenate(pieces)
    write_wav(f"{out}/{part}/{source['name']}.wav", y, NOISE_RATE)
    entry[part] = {"files": len(pieces), "seconds": round(len(y) / NOISE_RATE, 1)}
  return entry


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--src", required=True)
  parser.add_argument("--out", required=True)
  args = parser.parse_args()
  with open(os.path.join(HERE, "sources.json"), encoding="utf-8") as f:
    sources = json.load(f)
  report = {"speech": [], "noise": []}
  with ThreadPoolExecutor(2) as pool:
    for source in sources["speech"]:
      report["speech"].append(speech_bank(source, args.src, args.out, pool))
      print(json.dumps(report["speech"][-1]), flush=True)
  for source in sources["noise"]:
    report["noise"].append(noise_bank(source, args.src, args.out))
    print(json.dumps(report["noise"][-1]), flush=True)
  with open(args.out + "/report.json", "w", encoding="utf-8") as f:
    json.dump(report, f, indent=1)


if __name__ == "__main__":
  main()
