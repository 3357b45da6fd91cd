# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""llama.cpp: its CUDA operators SSM_SCAN and SSM_CONV (llama_ssm.cu), F32 only."""

import ctypes
import pathlib

import torch

from . import inputs, reference
from .timing import sets_of
from .work import Missing, Work

NAME = "llama.cpp (llama-cpp-python 0.3.36)"


def _pointer(t):
  assert t is None or t.is_contiguous()
  return ctypes.c_void_p(t.data_ptr())


class Peer:

  def __init__(self, peers):
    library = pathlib.Path(peers) / "lib" / "libllama_ssm.so"
    if not library.is_file():
      raise Missing(f"{NAME}: no {library}; bench/gpu/build_peers.py build makes it")
    self._library = ctypes.CDLL(str(library))

  def work(self, c, bytes_):
    make = {
        "causal_conv1d": self._make_conv,
        "selective_scan": self._make_scan,
        "ssd_chunk_scan": self._make_ssd,
        "selective_state_update": self._make_update
    }.get(c["operator"])
    if c["dtype"] != "F32" or not make:
      return None
    return make(c, sets_of(bytes_))

  def _conv(self, x, weight, bias):
    batch, dim, padded = x.shape
    width = weight.shape[1]
    y = torch.empty(batch, padded - width + 1, dim, device="cuda")
    self._library.hiss_llama_ssm_conv(*map(_pointer, (x, weight, bias, y)),
                                      *map(ctypes.c_int64, (batch, padded - width + 1, dim, width)),
                                      ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    return y

  def _make_conv(self, c, sets):
    if c["layout"] != "channels_first" or c["dim"] % 128:
      return None
    data = []
    for _ in range(sets):
      x, weight, bias = inputs.conv(c)
      data.append((torch.nn.functional.pad(x, (c["width"] - 1, 0)), weight, bias))

    def check():
      y = self._conv(*data[0])
      x, weight, bias = data[0]
      b, rows = slice(max(0, c["batch"] - 2), c["batch"]), slice(c["dim"] - 64, c["dim"])
      want = reference.causal_conv1d(x[b, rows, c["width"] - 1:], weight[rows], bias[rows])
      return reference.error(y[b, :, rows], want.transpose(1, 2))

    return Work([lambda d=d: self._conv(*d) for d in data],
                check,
                note="reads channels first with the state in front, writes channels last")

  def _scan(self, state, x, dt, A, B, C, ids):
    """x (batch, tokens, heads, headdim); returns y in x's shape and the final state."""
    batch, tokens, heads, headdim = x.shape
    out = torch.empty(x.numel() + state.numel(), device="cuda")
    self._library.hiss_llama_ssm_scan(
        *map(_pointer, (state, x, dt, A, B, C, ids, out)),
        *map(ctypes.c_int64,
             (batch, tokens, heads, headdim, state.shape[-1], B.shape[2], A.shape[1])),
        ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    return out[:x.numel()].view_as(x), out[x.numel():].view_as(state)

  def _scan_work(self, data, check, without):
    return Work([lambda d=d: self._scan(*d) for d in data], check, note="without " + without)

  def _make_ssd(self, c, sets):
    data = []
    for _ in range(sets):
      d = inputs.ssd(c)
      state = torch.zeros(c["batch"], c["nheads"], c["headdim"], c["dstate"], device="cuda")
      ids = torch.arange(c["batch"], device="cuda", dtype=torch.int32)
      data.append((state, d["x"], d["dt"] - 1, d["A"][:, None].contiguous(), d["B"], d["C"], ids))

    def check():
      y, final = self._scan(*data[0])
      _, x, dt, A, B, C, _ = data[0]
      b, h = c["batch"] - 1, c["nheads"] - 1
      zero = torch.zeros((), device="cuda")
      want, want_state = reference.ssd_chunk_scan(x[b, :, h, :8], dt[b, :, h], A[h, 0], B[b, :, -1],
                                                  C[b, :, -1], zero, zero)
      return max(reference.error(y[b, :, h, :8], want),
                 reference.error(final[b, h, :8], want_state))

    return self._scan_work(data, check, "D and the bias of dt")

  def _make_scan(self, c, sets):
    if c["dstate"] != 16 or c["dim"] % 128:
      return None
    data = []
    for _ in range(sets):
      d = inputs.scan(c)
      tokens_first = {k: d[k].transpose(1, 2).contiguous() for k in ("u", "dt", "B", "C")}
      state = torch.zeros(c["batch"], c["dim"], 1, c["dstate"], device="cuda")
      ids = torch.arange(c["batch"], device="cuda", dtype=torch.int32)
      data.append((state, tokens_first["u"][..., None], tokens_first["dt"] - 1, d["A"],
                   tokens_first["B"][:, :, None], tokens_first["C"][:, :, None], ids))

    def check():
      y, _ = self._scan(*data[0])
      _, u, dt, A, B, C, _ = data[0]
      b, rows = c["batch"] - 1, slice(0, 16)
      zero = torch.zeros(16, device="cuda")
      gate = torch.full_like(u[b, :, rows, 0], 40.0)  # SiLU(40) is 40
      want = reference.selective_scan(u[b, :, rows, 0], dt[b, :, rows], A[rows], B[b, :, 0],
                                      C[b, :, 0], zero, gate, zero) / 40
      return reference.error(y[b, :, rows, 0], want)

    return self._scan_work(data, check, "D, the gate and the bias of dt")

  def _make_update(self, c, sets):
    if not c["tied"]:
      return None
    data = []
    for _ in range(sets):
      d = inputs.update(c)
      ids = torch.arange(c["batch"], device="cuda", dtype=torch.int32)
      data.append((d["state"], d["x"][:, None], d["dt"][:, None, :, 0].contiguous(),
                   d["A"][:, 0, :1].contiguous(), d["B"][:, None], d["C"][:, None], ids))

    def check():
      y, final = self._scan(*data[0])
      state, x, dt, A, B, C, _ = data[0]
      zero = torch.zeros(c["nheads"], 1, device="cuda")
      want, want_state = reference.selective_state_update(state, x[:, 0], dt[:, 0, :, None],
                                                          A[:, :, None], B[:, 0], C[:,
                                                                                    0], zero, zero)
      return max(reference.error(y[:, 0], want), reference.error(final, want_state))

    return self._scan_work(data, check, "D and the bias of dt")
