#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Compiles all candidates of the autotuned Triton kernels of mamba_ssm for the SSD cases into
Triton's cache, on many cores and without launching them, so that time_peers.py only measures."""

import argparse
import multiprocessing
import os


def compile_share(directory, worker, workers):
  import torch
  from triton.runtime.autotuner import Autotuner

  import cases
  from peers import mamba

  seen = 0

  def run(self, *args, **kwargs):
    nonlocal seen
    self.nargs = dict(zip(self.arg_names, args))
    kwargs.pop("warmup")
    for config in self.prune_configs(kwargs):
      seen += 1
      if seen % workers == worker:
        self.fn.warmup(*args, **kwargs, **config.all_kwargs())

  peer = mamba.Peer(directory)
  Autotuner.run = run
  done = set()
  with torch.inference_mode():
    for c in cases.named():
      key = tuple(c.get(k) for k in ("nheads", "headdim", "dstate", "ngroups", "dtype"))
      if c["operator"] == "ssd_chunk_scan" and key not in done:
        done.add(key)
        peer.work(dict(c, seqlen=min(c["seqlen"], 2048)), 1 << 40).calls[0]()


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--peers", default="build/peers", help="folder of the unpacked peers")
  parser.add_argument("--workers", type=int, default=os.cpu_count())
  options = parser.parse_args()
  context = multiprocessing.get_context("spawn")
  processes = [
      context.Process(target=compile_share, args=(options.peers, i, options.workers))
      for i in range(options.workers)
  ]
  for p in processes:
    p.start()
  for p in processes:
    p.join()
  return max(p.exitcode != 0 for p in processes)


if __name__ == "__main__":
  raise SystemExit(main())
