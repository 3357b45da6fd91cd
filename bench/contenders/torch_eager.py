# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
"""The operators in plain PyTorch, as models run them where no compiled kernel is installed.

A server on stdin and stdout, started by bench/contenders/torch.cc. `case FOLDER` reads the inputs that
FOLDER/case.json lists, computes y and writes it to FOLDER/y; `time` answers with the milliseconds of a
call, `version` with that of PyTorch.
Letters: B batch, L sequence length, D channels, H heads, P head dimension, G groups, N states.
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
import torch.nn.functional as F  # noqa: E402


def selective_scan(u, dt, A, B, C, D=None, z=None, dt_bias=None, initial_state=None, **_):
  """Mamba-1: discretised for all tokens at once, then a step for each token."""
  delta = F.softplus(dt if dt_bias is None else dt + dt_bias)
  repeat = u.shape[2] // B.shape[2]
  B, C = (v.repeat_interleave(repeat, 2) if v.shape[2] > 1 else v for v in (B, C))
  decay = torch.exp(delta[..., None] * A)  # [B, L, D, N]
  fed = delta[..., None] * B * u[..., None]
  h = torch.zeros_like(fed[:, 0]) if initial_state is None else initial_state
  steps = []
  for t in range(u.shape[1]):
    h = decay[:, t] * h + fed[:, t]
    steps.append((h @ C[:, t, 0, :, None])[..., 0] if C.shape[2] == 1 else (h * C[:, t]).sum(-1))
  return gate(torch.stack(steps, 1), u, D, z)


def gate(y, x, D, z):
  if D is not None:
    y = y + D * x
  return y if z is None else y * F.silu(z)


def segment_sums(a):
  """[..., Q] -> [..., Q, Q]: sums of a over (j, i], -inf above the diagonal."""
  length = a.shape[-1]
  a = a[..., None].expand(*a.shape, length)
  a = a.masked_fill(~torch.ones(length, length, dtype=torch.bool).tril(-1), 0).cumsum(-2)
  return a.masked_fill(~torch.ones(length, length, dtype=torch.bool).tril(), -torch.inf)


def ssd_chunk_scan(x, dt, A, B, C, D=None, z=None, dt_bias=None, initial_states=None, **_):
  """Mamba-2: the chunked form as matrix products (Dao & Gu 2024, listing 1), chunks of 64."""
  batch, length, heads, rows = x.shape
  size = 64
  pad = -length % size
  delta = F.softplus(dt if dt_bias is None else dt + dt_bias)
  fed, a = x * delta[..., None], delta * A
  fed, B, C = (F.pad(v, (0, 0, 0, 0, 0, pad)) for v in (fed, B, C))
  a = F.pad(a, (0, 0, 0, pad))
  B, C = (v.repeat_interleave(heads // v.shape[2], 2) for v in (B, C))
  fed, B, C = (v.reshape(batch, -1, size, *v.shape[2:]) for v in (fed, B, C))
  a = a.reshape(batch, -1, size, heads).permute(0, 3, 1, 2)  # [B, H, chunks, Q]
  sums = a.cumsum(-1)
  within = torch.exp(segment_sums(a))
  y = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", C, B, within, fed)
  to_end = torch.exp(sums[..., -1:] - sums)
  states = torch.einsum("bclhn,bhcl,bclhp->bchpn", B, to_end, fed)
  first = torch.zeros_like(states[:, :1]) if initial_states is None else initial_states[:, None]
  states = torch.cat([first, states], 1)
  between = torch.exp(segment_sums(F.pad(sums[..., -1], (1, 0))))
  states = torch.einsum("bhzc,bchpn->bzhpn", between, states)[:, :-1]
  y = y + torch.einsum("bclhn,bchpn,bhcl->bclhp", C, states, torch.exp(sums))
  y = y.reshape(batch, -1, heads, rows)[:, :length]
  return gate(y, x, D if D is None or D.dim() == 2 else D[:, None], z)


def selective_state_update(x, dt, A, B, C, state, D=None, z=None, dt_bias=None, **_):
  """Decode, token by token; the state is written in place. Mamba-2's A, dt, dt_bias and D
  have size 1 over P and N."""
  repeat = x.shape[2] // B.shape[2]
  ys = []
  for t in range(x.shape[1]):
    delta = F.softplus(dt[:, t] if dt_bias is None else dt[:, t] + dt_bias)
    b, c = (v[:, t].repeat_interleave(repeat, 1) for v in (B, C))
    fed = (delta * x[:, t])[..., None] * b[:, :, None]
    state.copy_(state * torch.exp(delta[..., None] * A) + fed)
    ys.append((state * c[:, :, None]).sum(-1))
  return gate(torch.stack(ys, 1), x, D, z)


def causal_conv1d(x, weight, bias=None, silu=True, **_):
  """x [B, D, L], as a model has it at this point; so is the result."""
  y = F.conv1d(x, weight[:, None], bias, padding=weight.shape[1] - 1, groups=x.shape[1])
  y = y[..., :x.shape[2]]
  return F.silu(y) if silu else y


def causal_conv1d_update(x, weight, state, bias=None, silu=True, **_):
  """x [B, D, 1], state [B, D, W - 1]; the state is written in place."""
  window = torch.cat([state, x], -1)
  state.copy_(window[..., 1:])
  y = (window * weight).sum(-1, keepdim=True)
  y = y if bias is None else y + bias[:, None]
  return F.silu(y) if silu else y


class Case:
  """One operator on one set of inputs."""

  def __init__(self, folder):
    with open(os.path.join(folder, "case.json")) as file:
      case = json.load(file)
    torch.set_num_threads(case["threads"])
    self.clock = time.thread_time if case["threads"] == 1 else time.perf_counter
    tensors = {
        name: torch.from_numpy(np.fromfile(os.path.join(folder, name), np.float32).reshape(shape))
        for name, shape in case["tensors"].items()
    }
    self.channels_first = case["operator"].startswith("causal_conv1d")
    if self.channels_first:
      for name in {"x", "state"} & tensors.keys():
        tensors[name] = tensors[name].transpose(1, 2).contiguous()
    function = globals()[case["operator"]]
    self.call = lambda: function(**tensors, silu=case["silu"])
    y = self.call()
    y = y.transpose(1, 2) if self.channels_first else y
    y.contiguous().numpy().astype(np.float32).tofile(os.path.join(folder, "y"))
    start = time.perf_counter()
    self.call()
    self.calls = max(1, min(1000, int(5e-3 / (time.perf_counter() - start))))

  def milliseconds(self):
    start = self.clock()
    for _ in range(self.calls):
      self.call()
    return 1e3 * (self.clock() - start) / self.calls


def main():
  case = None
  with torch.no_grad():
    for line in sys.stdin:
      word, _, folder = line.rstrip("\n").partition(" ")
      if word == "case":
        case = None  # frees its memory first
        case = Case(folder)
        answer = "ready"
      else:
        answer = torch.__version__ if word == "version" else case.milliseconds()
      print(answer, flush=True)


if __name__ == "__main__":
  main()
