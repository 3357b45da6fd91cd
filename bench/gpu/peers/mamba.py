# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""mamba_ssm: its SSD and state update in Triton, its selective scan in CUDA."""

import functools
import importlib
import pathlib
import sys
import types

import triton
import triton.testing

from . import inputs, reference
from .timing import sets_of
from .work import Missing, Work

NAME = "mamba_ssm 2.3.2.post1"
CHUNK = 256  # what its models use
TUNING_MS = 20  # of device time for one candidate of an autotuned kernel


class Peer:

  def __init__(self, peers):
    source = pathlib.Path(peers) / "mamba_ssm-2.3.2.post1"
    if not (source / "mamba_ssm" / "ops").is_dir():
      raise Missing(f"{NAME}: no {source}; bench/gpu/build_peers.py fetch gets it")
    # Its __init__ imports models and what they need; the operators alone need none of it.
    driver = type(triton.runtime.driver.active)
    driver.get_benchmarker = lambda _: functools.partial(
        triton.testing.do_bench, warmup=5, rep=TUNING_MS)
    package = types.ModuleType("mamba_ssm")
    package.__path__ = [str(source / "mamba_ssm")]
    sys.modules["mamba_ssm"] = package
    ops = "mamba_ssm.ops.triton."
    self._ssd = importlib.import_module(ops + "ssd_combined").mamba_chunk_scan_combined
    self._update = importlib.import_module(ops + "selective_state_update").selective_state_update
    self._missing_scan = None
    try:
      self._scan = importlib.import_module(
          "mamba_ssm.ops.selective_scan_interface").selective_scan_fn
    except ImportError as e:
      self._missing_scan = f"{NAME}: selective_scan is not built ({e}); " \
                           "bench/gpu/build_peers.py build makes it"

  def work(self, c, bytes_):
    make = {
        "ssd_chunk_scan": self._make_ssd,
        "selective_scan": self._make_scan,
        "selective_state_update": self._make_update
    }.get(c["operator"])
    if make == self._make_scan and self._missing_scan:
      raise Missing(self._missing_scan)
    return make(c, sets_of(bytes_)) if make else None

  def _make_ssd(self, c, sets):
    data = [inputs.ssd(c) for _ in range(sets)]

    def call(d):
      return self._ssd(d["x"],
                       d["dt"],
                       d["A"],
                       d["B"],
                       d["C"],
                       CHUNK,
                       D=d["D"],
                       dt_bias=d["dt_bias"],
                       dt_softplus=True,
                       return_final_states=True)

    def check():
      y, state = call(data[0])
      d, b, h = data[0], c["batch"] - 1, c["nheads"] - 1
      g = h * c["ngroups"] // c["nheads"]
      want, want_state = reference.ssd_chunk_scan(d["x"][b, :, h, :8], d["dt"][b, :, h], d["A"][h],
                                                  d["B"][b, :, g], d["C"][b, :, g], d["D"][h],
                                                  d["dt_bias"][h])
      return max(reference.error(y[b, :, h, :8], want),
                 reference.error(state[b, h, :8], want_state))

    return Work([lambda d=d: call(d) for d in data],
                check,
                note="the states between chunks are rounded to the type of C")

  def _make_scan(self, c, sets):
    data = [inputs.scan(c) for _ in range(sets)]

    def call(d):
      return self._scan(d["u"],
                        d["dt"],
                        d["A"],
                        d["B"],
                        d["C"],
                        D=d["D"],
                        z=d["z"],
                        delta_bias=d["dt_bias"],
                        delta_softplus=True)

    def check():
      y = call(data[0])
      d, b, rows = data[0], c["batch"] - 1, slice(max(0, c["dim"] - 16), c["dim"])
      want = reference.selective_scan(d["u"][b, rows].T, d["dt"][b, rows].T, d["A"][rows],
                                      d["B"][b].T, d["C"][b].T, d["D"][rows], d["z"][b, rows].T,
                                      d["dt_bias"][rows])
      return reference.error(y[b, rows].T, want)

    return Work([lambda d=d: call(d) for d in data], check)

  def _make_update(self, c, sets):
    data = [inputs.update(c) for _ in range(sets)]

    def call(d):
      return self._update(d["state"],
                          d["x"],
                          d["dt"],
                          d["A"],
                          d["B"],
                          d["C"],
                          D=d["D"],
                          dt_bias=d["dt_bias"],
                          dt_softplus=True)

    def check():
      d = data[0]
      want, want_state = reference.selective_state_update(d["state"], d["x"], d["dt"], d["A"],
                                                          d["B"], d["C"], d["D"], d["dt_bias"])
      y = call(d)
      return max(reference.error(y, want), reference.error(d["state"], want_state))

    return Work([lambda d=d: call(d) for d in data], check)
