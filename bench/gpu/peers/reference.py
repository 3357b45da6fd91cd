# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""The operators in float64, on a sample of what a call computed, and the comparison with it.

Recurrences h[t] = a[t] h[t-1] + b[t] are solved by doubling, in log2(length) sweeps.
"""

import math

import torch


def error(got, want):
  """Relative root mean square; infinite where anything is not a number."""
  got, want = got.double(), want.double()
  if got.shape != want.shape or not torch.isfinite(got).all():
    return math.inf
  return float((got - want).norm() / want.norm().clamp_min(1e-300))


def recurrence(a, b):
  """h along the first axis, starting from zero."""
  a, b = a.clone(), b.clone()
  step = 1
  while step < b.shape[0]:
    b[step:] = b[step:] + a[step:] * b[:-step]
    a[step:] = a[step:] * a[:-step]
    step *= 2
  return b


def silu(v):
  return v * torch.sigmoid(v)


def causal_conv1d(x, weight, bias):
  """x (batch, dim, seqlen), all of it or a sample; with SiLU."""
  x, weight, bias = x.double(), weight.double(), bias.double()
  padded = torch.nn.functional.pad(x, (weight.shape[1] - 1, 0))
  y = sum(weight[:, k, None] * padded[:, :, k:k + x.shape[2]] for k in range(weight.shape[1]))
  return silu(y + bias[:, None])


def selective_scan(u, dt, A, B, C, D, z, dt_bias):
  """One sequence: u, dt, z (seqlen, dim), A (dim, dstate), B, C (seqlen, dstate)."""
  u, dt, A, B, C, D, z, dt_bias = (t.double() for t in (u, dt, A, B, C, D, z, dt_bias))
  dt = torch.nn.functional.softplus(dt + dt_bias)
  h = recurrence(torch.exp(dt[:, :, None] * A), (dt * u)[:, :, None] * B[:, None, :])
  return ((h * C[:, None, :]).sum(-1) + D * u) * silu(z)


def ssd_chunk_scan(x, dt, A, B, C, D, dt_bias):
  """One head of one sequence: x (seqlen, rows of the head), dt (seqlen), A, D, dt_bias numbers,
    B, C (seqlen, dstate). Returns y and the final state."""
  x, dt, A, B, C, D, dt_bias = (t.double() for t in (x, dt, A, B, C, D, dt_bias))
  dt = torch.nn.functional.softplus(dt + dt_bias)
  h = recurrence(torch.exp(dt * A)[:, None, None], (dt[:, None] * x)[:, :, None] * B[:, None, :])
  return (h * C[:, None, :]).sum(-1) + D * x, h[-1]


def selective_state_update(state, x, dt, A, B, C, D, dt_bias):
  """state (batch, nheads, headdim, dstate), x, dt (batch, nheads, headdim), A (nheads, headdim,
    dstate), B, C (batch, ngroups, dstate), D, dt_bias (nheads, headdim)."""
  state, x, dt, A, B, C, D, dt_bias = (t.double() for t in (state, x, dt, A, B, C, D, dt_bias))
  repeat = state.shape[1] // B.shape[1]
  B, C = (t.repeat_interleave(repeat, dim=1)[:, :, None, :] for t in (B, C))
  dt = torch.nn.functional.softplus(dt + dt_bias)[..., None]
  state = state * torch.exp(dt * A) + dt * x[..., None] * B
  return (state * C).sum(-1) + D * x, state
