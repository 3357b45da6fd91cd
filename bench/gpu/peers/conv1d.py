# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""causal_conv1d (Dao): the convolution of a sequence and of one token, in CUDA."""

import importlib
import pathlib
import sys

import torch

from . import inputs, reference
from .timing import sets_of
from .work import Missing, Work

NAME = "causal_conv1d 1.7.0"


class Peer:

  def __init__(self, peers):
    source = pathlib.Path(peers) / "causal_conv1d-1.7.0"
    if not (source / "causal_conv1d").is_dir():
      raise Missing(f"{NAME}: no {source}; bench/gpu/build_peers.py fetch gets it")
    sys.path.insert(0, str(source))
    try:
      self._module = importlib.import_module("causal_conv1d")
    except ImportError as e:
      raise Missing(f"{NAME} is not built ({e}); bench/gpu/build_peers.py build makes it") from e

  def work(self, c, bytes_):
    make = {
        "causal_conv1d": self._make_conv,
        "causal_conv1d_update": self._make_update
    }.get(c["operator"])
    return make(c, sets_of(bytes_)) if make else None

  def _make_conv(self, c, sets):
    data = [inputs.conv(c) for _ in range(sets)]

    def call(d):
      return self._module.causal_conv1d_fn(*d, activation="silu")

    def check():
      y = call(data[0])
      x, weight, bias = data[0]
      b, rows = slice(max(0, c["batch"] - 2), c["batch"]), slice(max(0, c["dim"] - 64), c["dim"])
      return reference.error(y[b, rows],
                             reference.causal_conv1d(x[b, rows], weight[rows], bias[rows]))

    return Work([lambda d=d: call(d) for d in data], check)

  def _make_update(self, c, sets):
    data = [inputs.conv_update(c) for _ in range(sets)]

    def call(d):
      return self._module.causal_conv1d_update(*d, activation="silu")

    def check():
      x, state, weight, bias = data[0]
      line = torch.cat((state, x[:, :, None]), dim=2)
      want = reference.causal_conv1d(line, weight, bias)[:, :, -1]
      return reference.error(call(data[0]), want)

    return Work([lambda d=d: call(d) for d in data], check)
