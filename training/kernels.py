# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""ctypes access to scan.cu and norm.cu and the autograd functions built on them (float32, d_conv
4, d_state 16, C = 32).
"""
import ctypes
import os
import shutil
import subprocess

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
NORM_EPSILON = 1e-5
_library = None


def build(out="kernels.so"):
  """Compiles scan.cu and norm.cu with nvcc (a few seconds) and loads them."""
  global _library
  nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
  subprocess.run([
      nvcc, "-O3", "-std=c++17", "-arch=sm_90", "--use_fast_math", "-shared", "-Xcompiler", "-fPIC",
      "-o", out,
      os.path.join(HERE, "scan.cu"),
      os.path.join(HERE, "norm.cu")
  ],
                 check=True)
  _library = ctypes.CDLL(os.path.abspath(out))


def _call(name, *args):
  """Passes tensors as pointers, ints and floats by value, the current stream last."""
  converted = []
  for a in args:
    if isinstance(a, torch.Tensor):
      converted.append(ctypes.c_void_p(a.data_ptr()))
    elif a is None:
      converted.append(ctypes.c_void_p(0))
    else:
      converted.append(ctypes.c_float(a) if isinstance(a, float) else ctypes.c_int(int(a)))
  error = getattr(_library, name)(*converted,
                                  ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
  if error:
    raise RuntimeError(f"{name}: CUDA error {error}")


class MambaInner(torch.autograd.Function):
  """xz [B, L, 2E] (convolution input, gate) -> gated scan output [B, L, E], before out_proj."""

  @staticmethod
  def forward(ctx, xz, conv_w, conv_b, w_x, w_dt, b_dt, a_log, d):
    count, length, twice = xz.shape
    width, rank = twice // 2, w_dt.shape[1]
    xz = xz.contiguous()
    taps = conv_w.reshape(width, 4).contiguous()
    a = -torch.exp(a_log)
    u = torch.empty(count, length, width, device=xz.device)
    _call("conv_fwd", xz, 2 * width, taps, conv_b, u, count, length, width)
    p = u.view(-1, width) @ w_x.t()
    delta = p[:, :rank] @ w_dt.t()
    bc = p[:, rank:].contiguous()
    y = torch.empty(count, length, width, device=xz.device)
    train = any(ctx.needs_input_grad)
    states = torch.empty((length + 3) // 4, count * width, 16, device=xz.device) if train else None
    _call("scan_fwd", u, delta, a, bc, d, b_dt, xz[..., width:], 2 * width, y, states, count,
          length, width)
    ctx.save_for_backward(xz, u, p, delta, bc, a, taps, conv_b, w_x, w_dt, b_dt, d, states)
    ctx.conv_shape = conv_w.shape
    return y

  @staticmethod
  def backward(ctx, dy):
    xz, u, p, delta, bc, a, taps, conv_b, w_x, w_dt, b_dt, d, states = ctx.saved_tensors
    count, length, twice = xz.shape
    width, rank = twice // 2, w_dt.shape[1]
    dxz, du, ddelta = torch.empty_like(xz), torch.empty_like(u), torch.empty_like(delta)
    dbc = torch.empty(count * length, width // 8, 32, device=xz.device)
    part = torch.empty(18, count, width, device=xz.device)
    _call("scan_bwd", u, delta, a, bc, d, b_dt, xz[..., width:], 2 * width, dy.contiguous(), states,
          du, ddelta, dxz[..., width:], 2 * width, dbc, part, count, length, width)
    part = part.sum(1)
    ddelta = ddelta.view(-1, width)
    dp = torch.cat([ddelta @ w_dt, dbc.sum(1)], 1)
    du = torch.addmm(du.view(-1, width), dp, w_x)
    conv_part = torch.empty(5, count, width, device=xz.device)
    _call("conv_bwd", xz, 2 * width, taps, conv_b, du, dxz, 2 * width, conv_part, count, length,
          width)
    conv_part = conv_part.sum(1)
    return (dxz,
            conv_part[:4].t().reshape(ctx.conv_shape), conv_part[4], dp.t() @ u.view(-1, width),
            ddelta.t() @ p[:, :rank], part[17], part[:16].t() * a, part[16])


class LayerNorm(torch.autograd.Function):
  """LayerNorm over a last axis of 32."""

  @staticmethod
  def forward(ctx, x, w, b):
    x = x.contiguous()
    y = torch.empty_like(x)
    _call("ln_fwd", x, w, b, y, x.numel() // 32)
    ctx.save_for_backward(x, w)
    return y

  @staticmethod
  def backward(ctx, dy):
    x, w = ctx.saved_tensors
    dx, grad = torch.empty_like(x), torch.empty(2, 32, device=x.device)
    _call("ln_bwd", x, w, dy.contiguous(), dx, grad, x.numel() // 32)
    return dx, grad[0], grad[1]


class NormPReLU(torch.autograd.Function):
  """InstanceNorm (affine) and PReLU over x [B, H, W, C], float32 or bfloat16."""

  @staticmethod
  def forward(ctx, x, w, b, slope):
    x = x.contiguous()
    count, height, wide, dim = x.shape
    stats, y = torch.empty(count, dim, 2, device=x.device), torch.empty_like(x)
    _call("in_fwd", x, stats, w, b, slope, y, count, height * wide, dim, NORM_EPSILON,
          x.dtype == torch.bfloat16)
    ctx.save_for_backward(x, stats, w, b, slope)
    return y

  @staticmethod
  def backward(ctx, dy):
    x, stats, w, b, slope = ctx.saved_tensors
    count, height, wide, dim = x.shape
    reduced, dx = torch.empty(count, dim, 3, device=x.device), torch.empty_like(x)
    _call("in_bwd", x, dy.contiguous(), stats, reduced, w, b, slope, dx, count, height * wide, dim,
          NORM_EPSILON, x.dtype == torch.bfloat16)
    total = reduced.sum(0)
    return dx, total[:, 1], total[:, 0], total[:, 2]


def layer_norm(x, norm):
  if x.is_cuda and x.shape[-1] == 32:
    return LayerNorm.apply(x, norm.weight, norm.bias)
  return norm(x)


def norm_prelu(x, cna):
  """cna: the Sequential(convolution, InstanceNorm2d, PReLU) whose last two are applied."""
  return NormPReLU.apply(x, cna[1].weight, cna[1].bias, cna[2].weight)
