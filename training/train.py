#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Trains the enhancer on one CUDA GPU for a fixed wall-clock time.

  train.py --data DATA --out OUT --seconds 560 [--init OUT1/final.pt] [--lr 2e-3] [--segment 2]

DATA holds what pack_data.py wrote (both halves in one folder) and the decoder opus_decode. Mixing
runs on the GPU;
the forward and backward pass of each rate is captured once as a CUDA graph. OUT gets train.jsonl
and checkpoints
(latest.pt every minute, final.pt): raw and averaged weights, config and what was run.
"""
import argparse
from concurrent.futures import ThreadPoolExecutor

import torch

import data
import kernels
import mixer
import model
import smoke
import trainer
from trainer import say


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--data", required=True)
  parser.add_argument("--out", required=True)
  parser.add_argument("--seconds", type=float, default=560, help="wall clock of the whole script")
  parser.add_argument("--lr", type=float, default=2e-3)
  parser.add_argument("--decay-from",
                      type=float,
                      default=0.0,
                      help="where on the cosine decay (0 to 1) the run begins")
  parser.add_argument("--decay-to", type=float, default=1.0, help="where it ends")
  parser.add_argument("--batch", type=float, default=1.0, help="multiplies the audio per step")
  parser.add_argument("--segment", type=float, default=2.0, help="seconds per item")
  parser.add_argument("--last-segment", type=float, default=4.0, help="the same, late in the run")
  parser.add_argument("--blocks", type=int, default=model.CONFIG["num_tfmamba"])
  parser.add_argument("--seed", type=int, default=0)
  parser.add_argument("--init", help="checkpoint whose averaged weights are the start")
  parser.add_argument("--smoke",
                      action="store_true",
                      help="checks, times and profiles instead of training")
  args = parser.parse_args()
  with ThreadPoolExecutor(1) as background:  # decoding takes as long as compiling
    loading = background.submit(data.load_banks, args.data, "cuda")
    kernels.build()
    say("kernels built; torch", torch.__version__, torch.cuda.get_device_name())
    smoke.check_kernels()
    banks, noise = loading.result()
  torch.backends.cuda.matmul.allow_tf32 = True
  torch.backends.cudnn.allow_tf32 = True
  torch.backends.cudnn.benchmark = True
  torch.manual_seed(args.seed)
  say({
      r: round(len(b.flat) / r / 60, 1) for r, b in banks.items()
  }, "min speech", round(len(noise.flat) / 48000 / 60, 1), "min noise")
  mix = mixer.Mixer(banks, noise, "cuda", trainer.INPUT_RMS_DBFS, args.seed)
  items = data.load_validation(args.data + "/val.npz", "cuda")
  if args.smoke:
    smoke.main(args, mix, items)
    return
  loop = trainer.Trainer(args, mix, items)
  say("graphs captured")
  loop.fit(trainer.START + args.seconds)
  say("peak memory GB", round(torch.cuda.max_memory_allocated() / 1e9, 1))


if __name__ == "__main__":
  main()
