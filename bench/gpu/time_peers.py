#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Times the peers on cases that cases.py printed: answer compared with float64 first, then through
Python and from a CUDA graph. A wrong answer is a row with its error and no time; a missing peer is
a line that says how to get it."""

import argparse
import json
import os
import sys

import torch

from peers import conv1d, llama, mamba, timing
from peers.measure import measure
from peers.work import Missing


def load(directory):
  peers = []
  for module in (mamba, conv1d, llama):
    try:
      peers.append((module.NAME, module.Peer(directory)))
    except Missing as e:
      print(f"skipped: {e}", flush=True)
  return peers


def line(row):
  head = f'{row["operator"]:22} {row["case"]:24} {row.get("layout", "")[9:]:6} {row["dtype"]:5} ' \
         f'{row["peer"][:14]:14} '
  if "median_ms" in row:
    return head + f'{1e3 * row["median_ms"]:9.1f} us {1e3 * row["python_ms"]:9.1f} us python ' \
        f'{row["bound_ms"] / row["median_ms"]:6.1%} of {row["bound_kind"]:6} ' \
        f'+-{row["spread"]:5.1%} err {row["error"]:.1e}'
  return head + ("WRONG, error %.1e" % row["error"]
                 if row.get("wrong") else row.get("missing") or "FAILED: " + row["failed"])


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--peers", default="build/peers", help="folder of the unpacked peers")
  parser.add_argument("--cases", required=True, help="what to time: a file that cases.py printed")
  parser.add_argument("--json", help="write the rows here")
  options = parser.parse_args()
  with open(options.cases) as file:
    wanted = json.load(file)
  sys.path.insert(0, f"{options.peers}/lib")
  sys.setdlopenflags(os.RTLD_LAZY)  # the extensions hold the forward parts alone
  torch.manual_seed(1)
  peers = load(options.peers)
  limits = timing.ceilings()
  print(
      f'{torch.cuda.get_device_name()}: copies {limits["copy_bytes_per_s"] / 1e12:.2f} TB/s, '
      f'bf16 products {limits["bf16_flop_per_s"] / 1e12:.0f} TFLOP/s',
      flush=True)
  rows = []
  # A stream of our own: one of the peers takes the default stream for none and makes another.
  with torch.inference_mode(), torch.cuda.stream(torch.cuda.Stream()):
    for case in wanted:
      for name, peer in peers:
        row = measure(name, peer, case, timing, limits)
        if row:
          rows.append(row)
          print(line(row), flush=True)
  if options.json:
    with open(options.json, "w") as file:
      json.dump({"ceilings": limits, "rows": rows}, file, indent=1)
  return 0


if __name__ == "__main__":
  sys.exit(main())
