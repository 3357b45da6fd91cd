# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""llama.cpp's test-backend-ops: SSM_SCAN and SSM_CONV of its CUDA backend as it checks and times
them itself, on its own shapes, the same tensors in each run."""

import os
import pathlib
import re
import subprocess

NAME = "test-backend-ops (llama-cpp-python 0.3.36)"
NOTE = "by llama.cpp's own clock, the same tensors each time"
OPERATORS = ("SSM_SCAN", "SSM_CONV")


def numbers(text):
  """type=f32,d_state=128,ne_a=[4,3328,1,1] as a dict of ints and lists of ints."""
  values = {}
  for name, many, one in re.findall(r"(\w+)=(?:\[([\d,]+)\]|(\w+))", text):
    values[name] = [int(x) for x in many.split(",")] if many else int(one) if one.isdigit() else one
  return values


def work_of(operator, v):
  """The same problem in our words, or None for what we have no operator for."""
  if operator == "SSM_SCAN":
    sizes = dict(dtype="F32", batch=v["n_seqs"], dstate=v["d_state"], ngroups=v["n_group"])
    if v["n_seq_tokens"] == 1:
      return dict(sizes,
                  operator="selective_state_update",
                  ntokens=1,
                  nheads=v["n_head"],
                  headdim=v["head_dim"])
    if v["head_dim"] == 1:
      return dict(sizes, operator="selective_scan", seqlen=v["n_seq_tokens"], dim=v["n_head"])
    return dict(sizes,
                operator="ssd_chunk_scan",
                state_dtype="F32",
                seqlen=v["n_seq_tokens"],
                nheads=v["n_head"],
                headdim=v["head_dim"])
  if operator not in ("SSM_CONV", "SSM_CONV_BIAS_SILU"):
    return None
  (padded, dim, batch, _), width = v["ne_a"], v["ne_b"][0]
  sizes = dict(dtype="F32", batch=batch, dim=dim, width=width)
  if padded == width:
    return dict(sizes, operator="causal_conv1d_update", ntokens=1)
  return dict(sizes,
              operator="causal_conv1d",
              seqlen=padded - width + 1,
              layout="channels_first")


def parse(text):
  """Rows of what `test-backend-ops perf` printed."""
  rows = []
  for operator, parameters, us in re.findall(r"(SSM_\w+)\((.*?)\):.*?([\d.]+) us/run", text):
    work = work_of(operator, numbers(parameters))
    if work:
      name = NAME if not operator.endswith("SILU") else NAME.replace(" ", " with bias and SiLU ", 1)
      rows.append(dict(work, case="test_backend_ops", peer=name, note=NOTE, median_ms=float(us) / 1e3))
  return rows


def rows(peers):
  """Nothing, with a line that says so, where there is no program."""
  program = pathlib.Path(peers) / "lib" / "llama" / "test-backend-ops"
  if not program.is_file():
    print(f"skipped: {NAME}: no {program}; bench/gpu/build_peers.py backend-ops makes it")
    return []
  libraries = f'{program.parent}:{os.environ.get("LD_LIBRARY_PATH", "")}'
  environment = dict(os.environ, LD_LIBRARY_PATH=libraries)
  found = []
  for operator in OPERATORS:

    def said(mode, operator=operator):
      return subprocess.run([str(program), mode, "-b", "CUDA0", "-o", operator],
                            check=False,
                            env=environment,
                            stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT,
                            text=True,
                            errors="replace").stdout

    passed = re.search(r"(\d+)/(\d+) tests passed", said("test"))
    print(f"test-backend-ops {operator}: {passed.group(0) if passed else 'no result'}", flush=True)
    for row in parse(said("perf")):
      if not passed or passed.group(1) != passed.group(2):
        row["wrong"] = True
      found.append(row)
  return found
