# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
"""RE-USE in plain PyTorch (training/model.py) with a checkpoint's weights, eager.

A server on stdin and stdout, started by bench/network.cc. `case FOLDER` reads FOLDER/case.json (the
checkpoint, kind of scan, threads, frames, bins) and the features beside it, runs the network once, writes its log
magnitude and phase to FOLDER and answers with the milliseconds of the run and, of these, of its blocks;
`version` answers with that of PyTorch.
"""
import json
import os
import sys
import time

# Before OpenMP looks: all processors, a thread on each, whatever the parent is pinned to.
os.sched_setaffinity(0, range(os.cpu_count()))
os.environ["OMP_PROC_BIND"] = "true"

import numpy as np  # noqa: E402
import torch  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "training"))
from check import read_safetensors  # noqa: E402
import model  # noqa: E402
import torch_eager  # noqa: E402


STEPWISE = model.Mamba  # decay and input of a token made when it is its turn


class TimedBlocks(torch.nn.ModuleList):
  """Adds up the time of the blocks."""
  seconds = 0.0

  def __iter__(self):
    for block in super().__iter__():

      def timed(x, block=block):
        start = time.perf_counter()
        y = block(x)
        self.seconds += time.perf_counter() - start
        return y

      yield timed


class SlowPathMamba(model.Mamba):
  """The same layer with the scan as Mamba's own reference and transformers have it: discretised for
  all tokens at once."""

  def forward(self, x):
    length = x.shape[1]
    u, z = self.in_proj(x).chunk(2, -1)
    u = torch.nn.functional.silu(self.conv1d(u.transpose(1, 2))[..., :length]).transpose(1, 2)
    dt, b, c = self.x_proj(u).split([self.R, self.N, self.N], -1)
    y = torch_eager.selective_scan(u, dt @ self.dt_proj.weight.T, -torch.exp(self.A_log),
                                   b[:, :, None], c[:, :, None], self.D, z, self.dt_proj.bias)
    return self.out_proj(y)


def run(folder):
  with open(os.path.join(folder, "case.json")) as file:
    case = json.load(file)
  torch.set_num_threads(case["threads"])
  weights, meta = read_safetensors(case["checkpoint"])
  sizes = {k: int(meta[k]) for k in ("num_tfmamba", "hid_feature", "d_state", "d_conv", "expand")}
  model.Mamba = STEPWISE if case["scan"] == "stepwise" else SlowPathMamba
  network = model.ReUse(dict(model.CONFIG, **sizes)).eval()
  network.load_state_dict(weights)
  network.TSMamba = blocks = TimedBlocks(network.TSMamba)
  shape = (case["frames"], case["bins"])
  inputs = [
      torch.from_numpy(np.fromfile(os.path.join(folder, name), np.float32).reshape(shape)).T[None]
      for name in ("log_magnitude", "phase")
  ]
  start = time.perf_counter()
  with torch.no_grad():
    outputs = network(*inputs)
  seconds = time.perf_counter() - start
  for name, output in zip(("log_magnitude_out", "phase_out"), outputs):
    output[0].T.contiguous().numpy().tofile(os.path.join(folder, name))
  return f"{1e3 * seconds} {1e3 * blocks.seconds}"


def main():
  for line in sys.stdin:
    word, _, folder = line.rstrip("\n").partition(" ")
    print(run(folder) if word == "case" else torch.__version__, flush=True)


if __name__ == "__main__":
  main()
