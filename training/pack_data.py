#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Encodes the banks of prepare_data.py for transport to the GPU machine.

  pack_data.py --bank BANK --out PACK

Every training stream becomes two Opus pieces, one in PACK/a and one in PACK/b (about 60 MB each),
so that either
half alone can be sent in one go; bank.json holds rates and sampling weights, val.npz fixed
progress-check items
made from the val/ part of the bank by the training mixer. The decoder is opus_decode.c.
"""
import argparse
import glob
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from scipy.io import wavfile

import mixer
import trainer

KBPS = {48000: 64, 24000: 40, 16000: 32}
NOISE_KBPS = 48
VAL_ITEMS = {8000: 4, 16000: 16, 48000: 4}
VAL_SECONDS = 2.0


def encode(x, rate, kbps, path):
  wav = path + ".wav"
  wavfile.write(wav, rate, x)
  subprocess.run([
      "ffmpeg", "-v", "error", "-y", "-i", wav, "-c:a", "libopus", "-b:a", f"{kbps}k", "-vbr", "on",
      "-application", "audio", path
  ],
                 check=True)
  os.remove(wav)


def pack_bank(bank, out):
  with open(bank + "/report.json", encoding="utf-8") as f:
    report = json.load(f)
  index = {}
  for entry in report["speech"] + report["noise"]:
    name, speech = entry["name"], "rate" in entry
    rate, x = wavfile.read(f"{bank}/wav/{name}.wav")
    index[name] = {"rate": rate, "weight": entry["weight"], "pieces": 2, "speech": speech}
    kbps = KBPS[rate] if speech else NOISE_KBPS
    half = len(x) // 2
    jobs = [(x[:half], rate, kbps, f"{out}/a/{name}.0.opus"),
            (x[half:], rate, kbps, f"{out}/b/{name}.1.opus")]
    with ThreadPoolExecutor(2) as pool:
      list(pool.map(lambda job: encode(*job), jobs))
  for part in "ab":
    with open(f"{out}/{part}/bank.json", "w", encoding="utf-8") as f:
      json.dump(index, f)


def make_validation(bank, out):
  torch.manual_seed(1234)
  speech, noise = {}, []
  for path in sorted(glob.glob(bank + "/val/*.wav")):
    rate, x = wavfile.read(path)
    piece = (torch.from_numpy(x).float() / 32768, min(len(x) / rate, 60.0))
    (noise
     if os.path.basename(path).startswith("n_") else speech.setdefault(rate, [])).append(piece)
  mix = mixer.Mixer({
      r: mixer.Bank(v, "cpu") for r, v in speech.items()
  },
                    mixer.Bank(noise, "cpu"),
                    "cpu",
                    trainer.INPUT_RMS_DBFS,
                    seed=99)
  items = {}
  for rate, count in VAL_ITEMS.items():
    ys, xs = zip(*[mix.batch(rate, 4, VAL_SECONDS) for _ in range(count // 4)])
    items[f"y{rate}"], items[f"x{rate}"] = (
        torch.cat(v).numpy().astype(np.float32) for v in (ys, xs))
  np.savez_compressed(f"{out}/a/val.npz", **items)


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--bank", required=True)
  parser.add_argument("--out", required=True)
  args = parser.parse_args()
  for part in "ab":
    os.makedirs(f"{args.out}/{part}", exist_ok=True)
  make_validation(args.bank, args.out)
  pack_bank(args.bank, args.out)


if __name__ == "__main__":
  main()
