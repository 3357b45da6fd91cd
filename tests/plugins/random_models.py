#!/usr/bin/env python3
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
"""random_models.py FOLDER [NAME...]: GGUF files of llama.cpp's state-space architectures.

The layouts are those that llama.cpp loads; the weights are random, in the ranges that trained
models start from, and a token is a byte. Names: the small ones (a few layers of width 256) by
default; those of SHAPES_TO_TIME have a real model's proportions and are written when named.
"""

import functools
import math
import pathlib
import sys

import gguf_file
from gguf_file import BF16, BLOCK, F32, Q4_0, Q8_0, Tensor

VOCABULARY = 256
# A step softplus(bias) of 0.001 to 0.1.
STEP_BIAS = (math.log(math.expm1(0.001)), math.log(math.expm1(0.1)))


class Model:
  def __init__(self, architecture, width, layers, weights=F32):
    self.architecture, self.width, self.layers, self.weights = architecture, width, layers, weights
    self.tensors = []
    self.metadata = {
      "general.architecture": architecture,
      "tokenizer.ggml.model": "no_vocab",
    }
    self.set(vocab_size=VOCABULARY, context_length=1 << 20, embedding_length=width, block_count=layers)
    self.set(**{"attention.layer_norm_rms_epsilon": 1e-5, "attention.layer_norm_epsilon": 1e-5})
    self.matrix("token_embd.weight", width, VOCABULARY, gain=math.sqrt(width))
    self.vector("output_norm.weight", [width], 0.9, 1.1)
    self.matrix("output.weight", width, VOCABULARY)

  def set(self, **values):
    for key, value in values.items():
      self.metadata[f"{self.architecture}.{key}"] = value

  def vector(self, name, shape, low, high):
    self.tensors.append(Tensor(name, shape, low, high))

  def matrix(self, name, inputs, outputs, gain=1.0):
    bound = gain * math.sqrt(3 / inputs)  # outputs of inputs of variance 1 have variance gain^2
    dtype = self.weights if inputs % BLOCK == 0 else F32
    self.tensors.append(Tensor(name, [inputs, outputs], -bound, bound, dtype))

  def ssm(self, conv, inner, state, rank, groups=None):
    self.set(**{"ssm.conv_kernel": conv, "ssm.inner_size": inner, "ssm.state_size": state})
    self.set(**{"ssm.time_step_rank": rank})
    if groups is not None:
      self.set(**{"ssm.group_count": groups})

  def attention(self, heads, heads_kv, head_width):
    self.set(**{"attention.head_count": heads, "attention.head_count_kv": heads_kv})
    self.set(**{"attention.key_length": head_width, "attention.value_length": head_width})
    self.set(**{"rope.dimension_count": head_width, "rope.freq_base": 10000.0})

  # Layers. `b` is the block's prefix.

  def norm(self, b):
    self.vector(b + "attn_norm.weight", [self.width], 0.9, 1.1)

  def mamba1_layer(self, b, conv, inner, state, rank):
    self.norm(b)
    self.matrix(b + "ssm_in.weight", self.width, 2 * inner)
    self.vector(b + "ssm_conv1d.weight", [conv, inner], -0.5, 0.5)
    self.vector(b + "ssm_conv1d.bias", [inner], -0.1, 0.1)
    self.matrix(b + "ssm_x.weight", inner, rank + 2 * state)
    self.matrix(b + "ssm_dt.weight", rank, inner)
    self.vector(b + "ssm_dt.bias", [inner], *STEP_BIAS)
    self.vector(b + "ssm_a", [state, inner], -state, -1)
    self.vector(b + "ssm_d", [inner], 0.5, 1)
    self.matrix(b + "ssm_out.weight", inner, self.width)

  def mamba2_layer(self, b, conv, inner, state, heads, groups, norm=True):
    channels = inner + 2 * groups * state
    self.matrix(b + "ssm_in.weight", self.width, inner + channels + heads)
    self.vector(b + "ssm_conv1d.weight", [conv, channels], -0.5, 0.5)
    self.vector(b + "ssm_conv1d.bias", [channels], -0.1, 0.1)
    self.vector(b + "ssm_dt.bias", [heads], *STEP_BIAS)
    self.vector(b + "ssm_a", [1, heads], -16, -1)
    self.vector(b + "ssm_d", [1, heads], 0.5, 1)
    if norm:
      self.vector(b + "ssm_norm.weight", [inner // groups, groups], 0.9, 1.1)
    self.matrix(b + "ssm_out.weight", inner, self.width)

  def attention_layer(self, b, heads, heads_kv, head_width):
    self.matrix(b + "attn_q.weight", self.width, heads * head_width)
    self.matrix(b + "attn_k.weight", self.width, heads_kv * head_width)
    self.matrix(b + "attn_v.weight", self.width, heads_kv * head_width)
    self.matrix(b + "attn_output.weight", heads * head_width, self.width)

  def gated_mlp(self, b, hidden, norm):
    self.vector(b + norm, [self.width], 0.9, 1.1)
    self.matrix(b + "ffn_gate.weight", self.width, hidden)
    self.matrix(b + "ffn_up.weight", self.width, hidden)
    self.matrix(b + "ffn_down.weight", hidden, self.width)


def mamba1(width=256, layers=4, state=16, weights=F32):
  m = Model("mamba", width, layers, weights)
  inner, rank = 2 * width, -(-width // 16)
  m.ssm(4, inner, state, rank)
  m.set(**{"feed_forward_length": 0, "attention.head_count": 0})
  for i in range(layers):
    m.mamba1_layer(f"blk.{i}.", 4, inner, state, rank)
  return m


def mamba2(width=256, layers=4, state=128, head=64, groups=1, weights=F32):
  m = Model("mamba2", width, layers, weights)
  inner = 2 * width
  m.ssm(4, inner, state, inner // head, groups)
  m.set(**{"feed_forward_length": 0, "attention.head_count": 0})
  for i in range(layers):
    m.norm(f"blk.{i}.")
    m.mamba2_layer(f"blk.{i}.", 4, inner, state, inner // head, groups)
  return m


def falcon_h1(width=256, layers=3):
  """Attention and state space side by side; 64 states a row of 32."""
  m = Model("falcon-h1", width, layers)
  inner, heads = 384, 12
  m.ssm(4, inner, 64, heads, 1)
  m.attention(4, 2, 64)
  m.set(feed_forward_length=384)
  for i in range(layers):
    b = f"blk.{i}."
    m.norm(b)
    m.mamba2_layer(b, 4, inner, 64, heads, 1, norm=False)
    m.attention_layer(b, 4, 2, 64)
    m.gated_mlp(b, 384, "ffn_norm")
  return m


def nemotron_h(width=256):
  """A layer is one of: state space (two groups), MLP without gate, attention."""
  kinds = ["ssm", "mlp", "ssm", "attention", "ssm", "mlp"]
  m = Model("nemotron_h", width, len(kinds))
  inner, heads = 640, 8  # rows of 80
  m.ssm(4, inner, 128, heads, 2)
  m.attention(4, [2 if k == "attention" else 0 for k in kinds], 64)
  m.set(feed_forward_length=[512 if k == "mlp" else 0 for k in kinds])
  for i, kind in enumerate(kinds):
    b = f"blk.{i}."
    m.norm(b)
    if kind == "ssm":
      m.mamba2_layer(b, 4, inner, 128, heads, 2)
    elif kind == "attention":
      m.attention_layer(b, 4, 2, 64)
    else:
      m.matrix(b + "ffn_up.weight", width, 512)
      m.matrix(b + "ffn_down.weight", 512, width)
  return m


def granite_hybrid(width=256):
  """State space or attention, then a gated MLP; residuals and logits scaled."""
  kinds = ["ssm", "ssm", "attention", "ssm"]
  m = Model("granitehybrid", width, len(kinds))
  inner, heads = 2 * width, 8
  m.ssm(4, inner, 128, heads, 1)
  m.attention(4, [2 if k == "attention" else 0 for k in kinds], 64)
  m.set(feed_forward_length=384, embedding_scale=1.0, residual_scale=0.5, logit_scale=1.0)
  m.set(**{"attention.scale": 0.125})
  for i, kind in enumerate(kinds):
    b = f"blk.{i}."
    m.norm(b)
    if kind == "ssm":
      m.mamba2_layer(b, 4, inner, 128, heads, 1)
    else:
      m.attention_layer(b, 4, 2, 64)
    m.gated_mlp(b, 384, "ffn_norm.weight")
  return m


def plamo2(width=256):
  """State space with norms on dt, B and C and a decay that is a view; attention with norms."""
  kinds = ["ssm", "attention", "ssm", "ssm"]
  m = Model("plamo2", width, len(kinds))
  inner, heads, state, steps = 512, 4, 64, 64  # steps: llama.cpp's max(64, width / 16)
  m.ssm(4, inner, state, heads, 0)
  m.attention(4, [2 if k == "attention" else 0 for k in kinds], 64)
  m.set(feed_forward_length=384)
  for i, kind in enumerate(kinds):
    b = f"blk.{i}."
    m.norm(b)
    if kind == "ssm":
      m.matrix(b + "ssm_in.weight", width, 2 * inner)
      m.vector(b + "ssm_conv1d.weight", [4, inner], -0.5, 0.5)
      m.matrix(b + "ssm_x.weight", inner, steps + 2 * state)
      m.matrix(b + "ssm_dt.weight", steps, heads)
      m.vector(b + "ssm_dt.bias", [heads], *STEP_BIAS)
      m.vector(b + "ssm_a", [heads], -16, -1)
      m.vector(b + "ssm_d", [heads], 0.5, 1)
      for name, extent in (("dt", steps), ("b", state), ("c", state)):
        m.vector(b + f"ssm_{name}_norm", [extent], 0.9, 1.1)
      m.matrix(b + "ssm_out.weight", inner, width)
    else:
      m.matrix(b + "attn_qkv.weight", width, (4 + 2 + 2) * 64)
      m.vector(b + "attn_q_norm.weight", [64, 4], 0.9, 1.1)
      m.vector(b + "attn_k_norm.weight", [64, 2], 0.9, 1.1)
      m.matrix(b + "attn_output.weight", 4 * 64, width)
    m.vector(b + "post_attention_norm", [width], 0.9, 1.1)
    m.vector(b + "ffn_norm.weight", [width], 0.9, 1.1)
    m.matrix(b + "ffn_up.weight", width, 2 * 384)
    m.matrix(b + "ffn_down.weight", 384, width)
    m.vector(b + "post_ffw_norm", [width], 0.9, 1.1)
  return m


SMALL = {
  "mamba": mamba1,
  "mamba2": mamba2,
  "falcon-h1": falcon_h1,
  "nemotron-h": nemotron_h,
  "granite-hybrid": granite_hybrid,
  "plamo2": plamo2,
}
WEIGHTS = {"f32": F32, "bf16": BF16, "q8_0": Q8_0, "q4_0": Q4_0}
SHAPES_TO_TIME = {
  f"{name}-{weights}": functools.partial(make, *sizes, weights=dtype)
  for weights, dtype in WEIGHTS.items()
  for name, make, sizes in (
    ("mamba-130m", mamba1, (768, 24)),
    ("falcon-mamba-7b-2-layers", mamba1, (4096, 2)),
    ("mamba2-2.7b-4-layers", mamba2, (2560, 4)),
  )
}


def main():
  if len(sys.argv) < 2:
    sys.exit(__doc__)
  folder = pathlib.Path(sys.argv[1])
  folder.mkdir(parents=True, exist_ok=True)
  every = SMALL | SHAPES_TO_TIME
  for name in sys.argv[2:] or SMALL:
    if name not in every:
      sys.exit(f"no model named {name}; want one of {', '.join(every)}")
    model = every[name]()
    gguf_file.write(folder / f"{name}.gguf", model.metadata, model.tensors, seed=len(name))


if __name__ == "__main__":
  main()
