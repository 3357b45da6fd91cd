# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""SE-Mamba in the RE-USE layout, with free width, depth, expansion and state size.

`ReUse.forward` is the plain definition (any device and dtype, slow scan loop). `ReUse.fast`
computes the same
function with the training kernels in channels-last layout and returns the unit phasor (cos, sin)
instead of the
angle, so that the phase gradient stays bounded. Tensor names are those of the published RE-USE
checkpoint.
Letters: B batch, C hid_feature, E = expand * C, N d_state, R dt_rank, T frames, F bins, L sequence length.
"""
import math
import re

import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = {
    "num_tfmamba": 4,
    "hid_feature": 32,
    "d_state": 16,
    "d_conv": 4,
    "expand": 2,
    "norm_epsilon": 1e-5,
    "input_channel": 2,
    "output_channel": 1,
    "compress_factor": "relu_log1p",
    "beta": 2.0,
    "mapping": True,
    "inner_mamba_nlayer": 1
}


class Mamba(nn.Module):
  """One direction of a Mamba-1 layer, [B, L, C] -> [B, L, C]."""

  def __init__(self, dim, config):
    super().__init__()
    self.E, self.N, self.R = dim * config["expand"], config["d_state"], math.ceil(dim / 16)
    width = config["d_conv"]
    self.in_proj = nn.Linear(dim, 2 * self.E, bias=False)
    self.conv1d = nn.Conv1d(self.E, self.E, width, groups=self.E, padding=width - 1)
    self.x_proj = nn.Linear(self.E, self.R + 2 * self.N, bias=False)
    self.dt_proj = nn.Linear(self.R, self.E)
    self.A_log = nn.Parameter(
        torch.log(torch.arange(1, self.N + 1, dtype=torch.float32).repeat(self.E, 1)))
    self.D = nn.Parameter(torch.ones(self.E))
    self.out_proj = nn.Linear(self.E, dim, bias=False)
    with torch.no_grad():  # Mamba's own initialisation: step sizes from 1e-3 to 1e-1
      nn.init.uniform_(self.dt_proj.weight, -self.R**-0.5, self.R**-0.5)
      dt = torch.exp(torch.rand(self.E) * math.log(100.0) + math.log(1e-3)).clamp(min=1e-4)
      self.dt_proj.bias.copy_(dt + torch.log(-torch.expm1(-dt)))

  def forward(self, x):
    length = x.shape[1]
    u, z = self.in_proj(x).chunk(2, -1)
    u = F.silu(self.conv1d(u.transpose(1, 2))[..., :length]).transpose(1, 2)
    dt, b, c = self.x_proj(u).split([self.R, self.N, self.N], -1)
    a = -torch.exp(self.A_log)
    delta = F.softplus(self.dt_proj(dt))
    h = torch.zeros(x.shape[0], self.E, self.N, dtype=x.dtype, device=x.device)
    ys = []
    for t in range(length):
      h = torch.exp(delta[:, t, :, None] * a) * h + (delta[:, t] * u[:, t])[..., None] * b[:, t,
                                                                                           None, :]
      ys.append(torch.matmul(h, c[:, t, :, None])[..., 0])
    return self.out_proj((torch.stack(ys, 1) + self.D * u) * F.silu(z))

  def fast(self, x, kernels):
    y = kernels.MambaInner.apply(F.linear(x, self.in_proj.weight), self.conv1d.weight,
                                 self.conv1d.bias, self.x_proj.weight, self.dt_proj.weight,
                                 self.dt_proj.bias, self.A_log, self.D)
    return F.linear(y, self.out_proj.weight)


class BiMamba(nn.Module):
  """Both directions, merged by a linear layer and normalised last."""

  def __init__(self, dim, config):
    super().__init__()
    self.forward_blocks = Mamba(dim, config)
    self.backward_blocks = Mamba(dim, config)
    self.output_proj = nn.Linear(2 * dim, dim)
    self.norm = nn.LayerNorm(dim, eps=config["norm_epsilon"])

  def forward(self, x, kernels=None):
    run = (lambda m, v: m.fast(v, kernels)) if kernels else (lambda m, v: m(v))
    flipped = x.flip(1)
    ahead = run(self.forward_blocks, x) + x
    back = (run(self.backward_blocks, flipped) + flipped).flip(1)
    y = self.output_proj(torch.cat([ahead, back], -1))
    return kernels.layer_norm(y, self.norm) if kernels else self.norm(y)


class TFMamba(nn.Module):
  """Time then frequency, each with an outer residual; [B, T, F, C]."""

  def __init__(self, dim, config):
    super().__init__()
    self.time_mamba = BiMamba(dim, config)
    self.freq_mamba = BiMamba(dim, config)

  def forward(self, x, kernels=None):
    b, t, f, c = x.shape
    x = x.transpose(1, 2).reshape(b * f, t, c)
    x = self.time_mamba(x, kernels) + x
    x = x.view(b, f, t, c).transpose(1, 2).reshape(b * t, f, c)
    x = self.freq_mamba(x, kernels) + x
    return x.view(b, t, f, c)


def cna(conv, dim):
  """Convolution, instance norm, PReLU."""
  return nn.Sequential(conv, nn.InstanceNorm2d(dim, affine=True), nn.PReLU(dim))


def conv_last(conv, x, padding=None):
  """Channels-last convolution, [B, H, W, C] -> [B, H', W', C']."""
  y = F.conv2d(x.permute(0, 3, 1, 2), conv.weight.to(x.dtype), conv.bias.to(x.dtype), conv.stride,
               conv.padding if padding is None else padding, conv.dilation)
  return y.permute(0, 2, 3, 1)


class DenseBlock(nn.Module):
  """Four dilated 3x3 stages over the concatenation (newest first) of everything before."""

  def __init__(self, dim):
    super().__init__()
    self.dense_block = nn.ModuleList(
        cna(nn.Conv2d(dim * (i + 1), dim, 3, dilation=(2**i, 1), padding=(2**i, 1)), dim)
        for i in range(4))

  def forward(self, x):
    skip = x
    for stage in self.dense_block:
      x = stage(skip)
      skip = torch.cat([x, skip], 1)
    return x

  def fast(self, x, kernels):
    skip = x
    for i, stage in enumerate(self.dense_block):
      x = kernels.norm_prelu(conv_last(stage[0], skip), stage)
      if i < 3:
        skip = torch.cat([x, skip], -1)
    return x


class SubPixel(nn.Module):
  """Up-sampling of the last axis by `ratio`, [B, C, H, W] -> [B, C, H, ratio W]."""

  def __init__(self, dim, ratio):
    super().__init__()
    self.ratio = ratio
    self.conv = nn.Conv2d(dim, dim * ratio, (1, 3))

  def forward(self, x):
    y = self.conv(F.pad(x, (1, 1)))
    b, c, h, w = y.shape
    return y.view(b, self.ratio, c // self.ratio, h,
                  w).permute(0, 2, 3, 4, 1).reshape(b, c // self.ratio, h, w * self.ratio)

  def fast(self, x):  # channels-last: the shuffle is a view
    y = conv_last(self.conv, x, (0, 1)).contiguous()
    b, h, w, c = y.shape
    return y.view(b, h, w * self.ratio, c // self.ratio)


class Encoder(nn.Module):
  """[B, 2, T, F] -> [B, C, T', F'], stride 4 in time and 2 in frequency."""

  def __init__(self, dim):
    super().__init__()
    self.dense_conv_1 = cna(nn.Conv2d(2, dim, 1), dim)
    self.dense_block = DenseBlock(dim)
    self.dense_conv_2 = cna(nn.Conv2d(dim, dim, (1, 3), (4, 2)), dim)

  def forward(self, x):
    return self.dense_conv_2(self.dense_block(self.dense_conv_1(x)))

  def fast(self, x, kernels, dtype):  # x [B, T, F, 2]
    first = self.dense_conv_1
    x = F.linear(x, first[0].weight[:, :, 0, 0], first[0].bias).to(dtype)
    x = self.dense_block.fast(kernels.norm_prelu(x, first), kernels)
    return kernels.norm_prelu(conv_last(self.dense_conv_2[0], x), self.dense_conv_2)


class Decoder(nn.Module):
  """Log-magnitude or phase decoder, [B, C, T', F'] -> [B, T, F] (before the crop)."""

  def __init__(self, dim, phase):
    super().__init__()
    self.dense_block = DenseBlock(dim)
    self.up_conv1 = cna(SubPixel(dim, 2), dim)
    self.up_conv2 = cna(SubPixel(dim, 4), dim)
    self.phase = phase
    if phase:
      self.phase_conv_r = nn.Conv2d(dim, 1, 1)
      self.phase_conv_i = nn.Conv2d(dim, 1, 1)
    else:
      self.final_conv = nn.Conv2d(dim, 1, 1)

  def forward(self, x):
    x = self.up_conv1(self.dense_block(x))
    x = self.up_conv2(x.transpose(2, 3)).transpose(2, 3)
    if self.phase:
      return torch.atan2(self.phase_conv_i(x), self.phase_conv_r(x))[:, 0]
    return self.final_conv(x)[:, 0]

  def fast(self, x, kernels):  # -> frequency rows, time columns: [B, F, T] or [B, F, T, 2]
    x = self.dense_block.fast(x, kernels)
    x = kernels.norm_prelu(self.up_conv1[0].fast(x), self.up_conv1)
    x = kernels.norm_prelu(self.up_conv2[0].fast(x.transpose(1, 2).contiguous()), self.up_conv2)
    heads = [self.phase_conv_r, self.phase_conv_i] if self.phase else [self.final_conv]
    y = F.linear(x.float(),
                 torch.cat([h.weight for h in heads])[:, :, 0, 0],
                 torch.cat([h.bias for h in heads]))
    return y if self.phase else y[..., 0]


class ReUse(nn.Module):
  """(log1p magnitude, phase) [B, F, T] of the input -> the same of the estimate."""

  def __init__(self, config=None):
    super().__init__()
    config = config or CONFIG
    dim = config["hid_feature"]
    self.dense_encoder = Encoder(dim)
    self.TSMamba = nn.ModuleList(TFMamba(dim, config) for _ in range(config["num_tfmamba"]))
    self.mask_decoder = Decoder(dim, False)
    self.phase_decoder = Decoder(dim, True)

  def forward(self, log_mag, phase):
    bins, frames = log_mag.shape[1:]
    x = torch.stack([log_mag, phase], 1).transpose(2, 3)
    x = self.dense_encoder(F.pad(x, (0, 2, 0, 2))).permute(0, 2, 3, 1)
    for block in self.TSMamba:
      x = block(x)
    x = x.permute(0, 3, 1, 2)
    return tuple(
        d(x)[:, :frames, :bins].transpose(1, 2) for d in (self.mask_decoder, self.phase_decoder))

  def fast(self, log_mag, phase, kernels, dtype=torch.float32):
    """Returns (log magnitude, cos, sin), each [B, F, T]; `dtype` is that of the convolution
    blocks.
    """
    bins, frames = log_mag.shape[1:]
    x = F.pad(torch.stack([log_mag, phase], -1).transpose(1, 2), (0, 0, 0, 2, 0, 2))
    x = self.dense_encoder.fast(x, kernels, dtype).float()
    for block in self.TSMamba:
      x = block(x, kernels)
    x = x.to(dtype)
    mag = self.mask_decoder.fast(x, kernels)[:, :bins, :frames]
    re, im = self.phase_decoder.fast(x, kernels)[:, :bins, :frames].unbind(-1)
    scale = torch.rsqrt(re * re + im * im + 1e-8)
    return mag, re * scale, im * scale


def grown(state, blocks):
  """The state of the same function with more TF-Mamba blocks: copies of the last one whose two
  norms, the last operation before each residual, are zero.
  """
  present = 1 + max(int(m.group(1)) for m in (re.match(r"TSMamba\.(\d+)\.", k) for k in state) if m)
  out = dict(state)
  for i in range(present, blocks):
    for name, value in state.items():
      if name.startswith(f"TSMamba.{present - 1}."):
        new = name.replace(f"TSMamba.{present - 1}.", f"TSMamba.{i}.")
        out[new] = torch.zeros_like(value) if "mamba.norm." in name else value.clone()
  return out
