# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""The work that the peers are timed on: sizes of real models, and a sweep that looks for cliffs.

A case is a dict: operator, case (its name), dtype and the operator's sizes, by the names of the
problem's fields. Run as a program it prints them for hiss_gpu_check --cases: cases.py [--sweep].
"""
import json
import re
import sys

F32, BF16 = "F32", "BF16"


def conv(name, batch, seqlen, dim, dtype, layout):
  return dict(operator="causal_conv1d",
              case=name,
              dtype=dtype,
              batch=batch,
              seqlen=seqlen,
              dim=dim,
              width=4,
              layout=layout)


def conv_update(name, batch, dim, dtype):
  return dict(operator="causal_conv1d_update",
              case=name,
              dtype=dtype,
              batch=batch,
              ntokens=1,
              dim=dim,
              width=4)


def scan(name, batch, seqlen, dim, dtype, dstate=16):
  return dict(operator="selective_scan",
              case=name,
              dtype=dtype,
              batch=batch,
              seqlen=seqlen,
              dim=dim,
              dstate=dstate,
              ngroups=1)


def ssd(name, batch, seqlen, nheads, headdim, dstate, ngroups, dtype, state_dtype=F32):
  return dict(operator="ssd_chunk_scan",
              case=name,
              dtype=dtype,
              state_dtype=state_dtype,
              batch=batch,
              seqlen=seqlen,
              nheads=nheads,
              headdim=headdim,
              dstate=dstate,
              ngroups=ngroups)


def update(name, batch, nheads, headdim, dstate, ngroups, dtype, tied=True):
  return dict(operator="selective_state_update",
              case=name,
              dtype=dtype,
              batch=batch,
              ntokens=1,
              nheads=nheads,
              headdim=headdim,
              dstate=dstate,
              ngroups=ngroups,
              tied=tied)


def named():
  rows = []
  for layout in ("channels_first", "channels_last"):
    for dtype in (F32, BF16):
      rows += [
          conv("mamba2_2.7b_l65536", 1, 65536, 5376, dtype, layout),
          conv("mamba2_2.7b_l2048", 1, 2048, 5376, dtype, layout),
          conv("nemotron_h_8b_l8192", 1, 8192, 10240, dtype, layout),
          conv("re_use_frequency_81", 2001, 81, 256, dtype, layout),
          conv("re_use_time_2001", 81, 2001, 256, dtype, layout),
          conv("granite_4_h_tiny_l512", 1, 512, 3328, dtype, layout),
          conv("falcon_mamba_7b_l934", 1, 934, 8192, dtype, layout),
      ]
  rows += [conv_update("mamba2_2.7b_b%d" % b, b, 5376, BF16) for b in (1, 32, 256)]
  rows += [conv_update("granite_4_h_tiny_b1", 1, 3328, F32)]
  rows += [
      scan("re_use_16k_time", 161, 251, 256, F32),
      scan("re_use_16k_frequency", 251, 161, 256, F32),
      scan("re_use_48k_time", 241, 2001, 256, F32),
  ]
  for dtype in (F32, BF16):
    rows += [scan("mamba_2.8b_l%d" % n, 1, n, 5120, dtype) for n in (2048, 16384)]
  for n in (2048, 8192, 65536):
    rows.append(ssd("mamba2_2.7b_l%d" % n, 1, n, 80, 64, 128, 1, BF16))
  rows += [
      ssd("mamba2_2.7b_b8_l2048", 8, 2048, 80, 64, 128, 1, BF16),
      ssd("nemotron_h_8b_l8192", 1, 8192, 128, 64, 128, 8, BF16),
      ssd("nemotron_nano_9b_l8192", 1, 8192, 128, 80, 128, 8, BF16),
      ssd("falcon_h1_7b_l8192", 1, 8192, 24, 128, 256, 1, BF16),
      ssd("falcon_h1_7b_l8192_bf16_state", 1, 8192, 24, 128, 256, 1, BF16, BF16),
      ssd("mamba2_2.7b_l2048_bf16_state", 1, 2048, 80, 64, 128, 1, BF16, BF16),
      ssd("granite_4_h_tiny_l512", 1, 512, 48, 64, 128, 1, F32),
      ssd("nemotron_nano_9b_l512", 1, 512, 128, 80, 128, 8, F32),
      ssd("h128_p80_n128_l512", 1, 512, 128, 80, 128, 1, F32),
  ]
  for b in (1, 32, 256):
    rows += [
        update("mamba2_2.7b_b%d" % b, b, 80, 64, 128, 1, BF16),
        update("nemotron_h_8b_b%d" % b, b, 128, 64, 128, 8, BF16),
        update("falcon_h1_7b_b%d" % b, b, 24, 128, 256, 1, BF16),
        update("mamba_2.8b_b%d" % b, b, 1, 5120, 16, 1, F32, tied=False),
    ]
  rows += [
      update("granite_4_h_tiny_b1", 1, 48, 64, 128, 1, F32),
      update("nemotron_nano_9b_b1", 1, 128, 80, 128, 8, F32),
      update("h128_p80_n128_b1", 1, 128, 80, 128, 1, F32),
  ]
  return rows


def sweep():
  """Lengths 1 ... 4096 by sequences times heads 1 ... 2048; dim and conv rows alike."""
  rows = []
  for seqlen in (1, 7, 64, 500, 4096):
    for rows_of_work in (1, 16, 128, 2048):
      size = "sweep_l%d_r%d" % (seqlen, rows_of_work)
      batch = max(1, rows_of_work // 64)
      heads = rows_of_work // batch
      rows.append(ssd(size, batch, seqlen, heads, 64, 128, 1, BF16))
      rows.append(scan(size, batch, seqlen, 64 * heads, F32))
      rows.append(conv(size, batch, seqlen, 64 * heads, BF16, "channels_last"))
      rows.append(conv(size, batch, seqlen, 64 * heads, BF16, "channels_first"))
  return rows


def matching(pattern, with_sweep):
  """Those whose 'operator case dtype' the regular expression finds."""
  return [
      c for c in named() + (sweep() if with_sweep else [])
      if re.search(pattern, f'{c["operator"]} {c["case"]} {c["dtype"]}')
  ]


def work(c):
  """(bytes that must move, FLOP of the matrix units, exponentials and the like that must be exact
  to float32, of these how many may be a polynomial instead, other instructions)."""
  size = 2 if c["dtype"] == BF16 else 4
  op = c["operator"]
  if op == "causal_conv1d":
    elements = c["batch"] * c["seqlen"] * c["dim"]
    return 2 * size * elements, 0, 2 * elements, 0, 10 * elements
  if op == "causal_conv1d_update":
    return size * c["batch"] * c["dim"] * 2 * c["width"], 0, 0, 0, 0
  if op == "selective_scan":
    tokens = c["batch"] * c["seqlen"]
    elements, states = tokens * c["dim"], tokens * c["dim"] * c["dstate"]
    bytes_ = size * (4 * elements + 2 * tokens * c["dstate"])
    return bytes_, 0, states + 4 * elements, states, 4 * states + 20 * elements
  h, p, n, g = c["nheads"], c["headdim"], c["dstate"], c["ngroups"]
  if op == "ssd_chunk_scan":
    tokens, chunk = c["batch"] * c["seqlen"], 128
    state_size = 2 if c.get("state_dtype") == BF16 else 4
    bytes_ = tokens * size * (2 * h * p + 2 * g * n + h) + state_size * c["batch"] * h * p * n
    return bytes_, tokens * (h * (chunk * p + 4 * n * p) + g * chunk * n), 0, 0, 0
  state = 8 * c["batch"] * h * p * n
  return state + c["batch"] * size * (2 * h * p + 2 * g * n + h), 0, 0, 0, 0


POLYNOMIAL = 8  # instructions of an exponential that is a polynomial


def _arithmetic_s(exact, movable, other, exp_per_s):
  """With the share of the exponentials as polynomials that is best. 128 lanes issue a clock, the
  special functions are 16 of them."""
  lanes = 8 * exp_per_s
  shares = (movable * i / 100 for i in range(101))
  return min(
      max((exact - m) / exp_per_s, (other + exact + (POLYNOMIAL - 1) * m) / lanes) for m in shares)


def bound(c, ceilings):
  """(milliseconds, what binds): of memory, the matrix units in bf16 and the arithmetic around the
  exponentials, the slowest. Ceilings as timing.ceilings() measures them."""
  bytes_, flop, exact, movable, other = work(c)
  times = {
      "memory": 1e3 * bytes_ / ceilings["copy_bytes_per_s"],
      "matrix": 1e3 * flop / ceilings["bf16_flop_per_s"],
      "exp": 1e3 * _arithmetic_s(exact, movable, other, ceilings["exp_per_s"]),
  }
  kind = max(times, key=times.get)
  return times[kind], kind


if __name__ == "__main__":
  json.dump(named() + (sweep() if "--sweep" in sys.argv[1:] else []), sys.stdout, indent=1)
