#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Writes a training checkpoint as safetensors (float32) with the configuration hiss reads in the
metadata.

  export.py final.pt OUT.safetensors [--weights ema]
"""
import argparse
import hashlib
import json

import torch

LICENCE = "Apache-2.0"


def metadata(checkpoint, weights):
  config, stft = checkpoint["config"], checkpoint["stft"]
  meta = {
      "format": "pt",
      "architecture": "SE-Mamba, RE-USE layout",
      "licence": LICENCE,
      "weights": weights,
      "config": json.dumps({
          "model_cfg": config,
          "stft_cfg": stft
      }),
      "input_rms_dbfs": f"{checkpoint['input_rms_dbfs']:g}",
      "bypass": json.dumps(checkpoint["bypass"]),
      "steps": str(sum(run["steps"] for run in checkpoint["history"]))
  }
  meta.update(
      {k: str(config[k]) for k in ("num_tfmamba", "hid_feature", "d_state", "d_conv", "expand")})
  meta.update({k: str(stft[k]) for k in ("n_fft", "hop_size", "win_size", "sampling_rate")})
  return meta


def write_safetensors(path, tensors, meta):
  """8-byte little-endian header length, JSON header, raw data."""
  header, blobs, offset = {"__metadata__": meta}, [], 0
  for name in sorted(tensors):
    blob = tensors[name].detach().float().contiguous().numpy().tobytes()
    header[name] = {
        "dtype": "F32",
        "shape": list(tensors[name].shape),
        "data_offsets": [offset, offset + len(blob)]
    }
    blobs.append(blob)
    offset += len(blob)
  text = json.dumps(header, separators=(",", ":")).encode()
  text += b" " * (-len(text) % 8)
  with open(path, "wb") as f:
    f.write(len(text).to_bytes(8, "little") + text + b"".join(blobs))


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("checkpoint")
  parser.add_argument("out")
  parser.add_argument("--weights", default="ema", choices=("ema", "raw"))
  args = parser.parse_args()
  checkpoint = torch.load(args.checkpoint, map_location="cpu")
  tensors = checkpoint[args.weights]
  write_safetensors(args.out, tensors, metadata(checkpoint, args.weights))
  with open(args.out, "rb") as f:
    data = f.read()
  print(len(tensors), "tensors,", sum(t.numel() for t in tensors.values()), "parameters,",
        len(data), "bytes, sha256",
        hashlib.sha256(data).hexdigest())


if __name__ == "__main__":
  main()
