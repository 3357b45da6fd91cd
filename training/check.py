#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Shows that the training definition computes what the parity fixtures hold (CPU, a few seconds).

  check.py reuse_tiny_weights.safetensors reuse_tiny_io_16000.safetensors
  [reuse_tiny_io_44100.safetensors ...]

Errors are relative norms; complex spectra and waveforms are compared, never raw phases. Exit
status 1 above LIMIT.
"""
import json
import sys

import numpy as np
import torch

import frontend
import model

LIMIT = 2e-4


def read_safetensors(path):
  """Returns ({name: tensor}, metadata) of a float32 file."""
  with open(path, "rb") as f:
    data = f.read()
  size = int.from_bytes(data[:8], "little")
  header = json.loads(data[8:8 + size])
  meta = header.pop("__metadata__", {})
  tensors = {}
  for name, entry in header.items():
    a, b = (8 + size + o for o in entry["data_offsets"])
    tensors[name] = torch.from_numpy(
        np.frombuffer(data[a:b], np.float32).reshape(entry["shape"]).copy())
  return tensors, meta


def relative(got, want):
  return ((got - want).abs().square().sum().sqrt() / want.abs().square().sum().sqrt()).item()


def main():
  if len(sys.argv) < 3:
    sys.exit(__doc__)
  weights, meta = read_safetensors(sys.argv[1])
  sizes = {k: int(meta[k]) for k in ("num_tfmamba", "hid_feature", "d_state", "d_conv", "expand")}
  network = model.ReUse(dict(model.CONFIG, **sizes)).eval()
  network.load_state_dict(weights)
  failed = False
  for path in sys.argv[2:]:
    want, meta = read_safetensors(path)
    rate = int(meta["sampling_rate"])
    y = want["waveform"].reshape(1, -1)
    log_mag, phase = frontend.features(frontend.stft(y, rate))
    with torch.no_grad():
      out_mag, out_phase = network(log_mag, phase)
      wave = frontend.istft(torch.polar(frontend.sweep_filter(out_mag), out_phase), rate,
                            y.shape[-1])[0]
    n = int(meta["valid_out_samples"])
    errors = {
        "features":
            relative(torch.polar(log_mag[0], phase[0]),
                     torch.polar(want["log_magnitude"], want["phase"])),
        "log magnitude":
            relative(out_mag[0], want["out_log_magnitude"]),
        "spectrum":
            relative(torch.polar(out_mag[0].clamp(min=0), out_phase[0]),
                     torch.polar(want["out_log_magnitude"].clamp(min=0), want["out_phase"])),
        "waveform":
            relative(wave[:n], want["out_waveform"].reshape(-1)[:n])
    }
    print(rate, "Hz:", ", ".join(f"{k} {v:.1e}" for k, v in errors.items()))
    failed |= not max(errors.values()) < LIMIT
  sys.exit(failed)


if __name__ == "__main__":
  main()
