#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Averages the weights of a run with those of the checkpoint it started from.

  average.py FINAL.pt START.pt OUT.pt [--share 0.5]

`share` is the part of START; where FINAL has more blocks, START is grown as for training. OUT is a
checkpoint like FINAL with the averaged weights under "ema".
"""
import argparse

import torch

import model


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("final")
  parser.add_argument("start")
  parser.add_argument("out")
  parser.add_argument("--share", type=float, default=0.5)
  args = parser.parse_args()
  checkpoint = torch.load(args.final, map_location="cpu")
  start = torch.load(args.start, map_location="cpu")["ema"]
  start = model.grown(start, checkpoint["config"]["num_tfmamba"])
  checkpoint["ema"] = {
      k: torch.lerp(v.float(), start[k].float(), args.share) for k, v in checkpoint["ema"].items()
  }
  del checkpoint["raw"]
  checkpoint["history"][-1]["averaged_with_start"] = args.share
  torch.save(checkpoint, args.out)


if __name__ == "__main__":
  main()
