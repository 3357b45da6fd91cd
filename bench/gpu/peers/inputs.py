# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Random inputs of a case on the GPU, in the layout the operators of hiss take by default."""

import math

import torch

DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16}


def normal(*shape, mean=0.0, deviation=1.0, dtype=torch.float32):
  t = torch.empty(shape, device="cuda", dtype=dtype)
  return t.normal_(mean, deviation)


def conv(c):
  """x (batch, dim, seqlen) with the memory of the case's layout; weight, bias."""
  dtype = DTYPES[c["dtype"]]
  if c["layout"] == "channels_last":
    x = normal(c["batch"], c["seqlen"], c["dim"], dtype=dtype).transpose(1, 2)
  else:
    x = normal(c["batch"], c["dim"], c["seqlen"], dtype=dtype)
  weight = normal(c["dim"], c["width"], deviation=0.5, dtype=dtype)
  return x, weight, normal(c["dim"], dtype=dtype)


def conv_update(c):
  dtype = DTYPES[c["dtype"]]
  weight = normal(c["dim"], c["width"], deviation=0.5, dtype=dtype)
  return (normal(c["batch"], c["dim"],
                 dtype=dtype), normal(c["batch"], c["dim"], c["width"] - 1,
                                      dtype=dtype), weight, normal(c["dim"], dtype=dtype))


def minus_integers(rows, dstate):
  """-1 ... -dstate for each row, disturbed: what trained models have."""
  steps = torch.arange(1, dstate + 1, device="cuda", dtype=torch.float32)
  return -steps * torch.exp(normal(rows, dstate, deviation=0.1))


def scan(c):
  """u, dt, z (batch, dim, seqlen), A, B, C (batch, dstate, seqlen), D, dt_bias."""
  dtype = DTYPES[c["dtype"]]
  wide = (c["batch"], c["dim"], c["seqlen"])
  narrow = (c["batch"], c["dstate"], c["seqlen"])
  return dict(u=normal(*wide, dtype=dtype),
              dt=normal(*wide, mean=-3, dtype=dtype),
              z=normal(*wide, dtype=dtype),
              A=minus_integers(c["dim"], c["dstate"]),
              B=normal(*narrow, dtype=dtype),
              C=normal(*narrow, dtype=dtype),
              D=normal(c["dim"], mean=1, deviation=0.1),
              dt_bias=normal(c["dim"], mean=-1, deviation=0.3))


def heads_decay(nheads):
  """A of each head, between -1 and -16."""
  return -torch.exp(torch.rand(nheads, device="cuda") * math.log(16.0))


def ssd(c):
  dtype = DTYPES[c["dtype"]]
  tokens = (c["batch"], c["seqlen"])
  return dict(x=normal(*tokens, c["nheads"], c["headdim"], dtype=dtype),
              dt=normal(*tokens, c["nheads"], mean=-3, dtype=dtype),
              A=heads_decay(c["nheads"]),
              B=normal(*tokens, c["ngroups"], c["dstate"], dtype=dtype),
              C=normal(*tokens, c["ngroups"], c["dstate"], dtype=dtype),
              D=normal(c["nheads"], mean=1, deviation=0.1),
              dt_bias=normal(c["nheads"], mean=-1, deviation=0.3))


def update(c):
  """As selective_state_update of mamba_ssm takes them; tied: one A, dt and bias for a head."""
  dtype = DTYPES[c["dtype"]]
  b, h, p, n = c["batch"], c["nheads"], c["headdim"], c["dstate"]
  if c["tied"]:
    dt = normal(b, h, 1, mean=-3, dtype=dtype).expand(b, h, p)
    A = heads_decay(h)[:, None, None].expand(h, p, n)
    dt_bias = normal(h, 1, mean=-1, deviation=0.3).expand(h, p)
  else:
    dt = normal(b, h, p, mean=-3, dtype=dtype)
    A = minus_integers(h * p, n).view(h, p, n)
    dt_bias = normal(h, p, mean=-1, deviation=0.3)
  return dict(state=normal(b, h, p, n),
              x=normal(b, h, p, dtype=dtype),
              dt=dt,
              A=A,
              B=normal(b, c["ngroups"], n, dtype=dtype),
              C=normal(b, c["ngroups"], n, dtype=dtype),
              D=normal(h, 1, mean=1, deviation=0.1).expand(h, p),
              dt_bias=dt_bias)
