# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""The training loop: settings, validation, graphed passes, checkpoints. train.py is its command
line.
"""
import json
import math
import os
import time

import numpy as np
import torch

import frontend
import kernels
import losses
import model
import perceptual

# the level the network works at: log1p then resolves 50 to 60 dB below speech
INPUT_RMS_DBFS = 15.0
BYPASS = {"low_db": -26.0, "high_db": -20.0, "bins": 3, "frames": 3}
BATCH_SECONDS = {8000: 32.0, 16000: 16.0, 24000: 10.0, 48000: 6.0}  # audio per step
PROBABILITY = {8000: 0.12, 16000: 0.58, 24000: 0.07, 48000: 0.23}
GRAD_CLIP = 10.0
EMA_DECAY = 0.999
WARM_UP = 300
CHECK_SECONDS = 100
LAST_PART = 0.5  # of the rate's way down, after which the segments have --last-segment seconds
DTYPE = torch.bfloat16  # of the convolution blocks
START = time.time()


def say(*words):
  print(f"[{time.time() - START:7.1f}]", *words, flush=True)


def si_sdr(estimate, target):
  """Mean scale-invariant signal-to-distortion ratio in dB over [B, n], at most 50 an item."""
  scale = (estimate * target).sum(-1, keepdim=True) / (target * target).sum(-1, keepdim=True)
  aligned = scale * target
  power = aligned.square().sum(-1)
  return (10 * torch.log10(power /
                           ((estimate - aligned).square().sum(-1) + 1e-5 * power))).mean().item()


def lsd(estimate, target, rate):
  a, b = (torch.log10(frontend.stft(v, rate).abs().square() + 1e-2) for v in (estimate, target))
  return (10 * (a - b)).square().mean(1).sqrt().mean().item()


@torch.no_grad()
def run(net, y, rate, dtype):
  """Returns the waveforms before and after the bypass."""
  spectrum = frontend.stft(y, rate)
  z = losses.waveform(*net.fast(*frontend.features(spectrum), kernels, dtype), rate, y.shape[-1])
  return z, losses.after_bypass(spectrum, z, BYPASS, rate)


def validate(net, items, dtype=DTYPE):
  """Per rate: SI-SDR of input, network, bypass; LSD of input and bypass; disturbance and envelope
  error of the bypass. 'clean': SI-SDR with the target as input.
  """
  out = {}
  for rate, (y, x) in items.items():
    z, z2 = run(net, y, rate, dtype)
    out[rate] = [
        round(v, 2)
        for v in (si_sdr(y, x), si_sdr(z, x), si_sdr(z2, x), lsd(y, x, rate), lsd(z2, x, rate))
    ] + [round(v.mean().item(), 4) for v in perceptual.errors(z2, x, rate)]
  x = items[16000][1]
  x = x * frontend.level(x, INPUT_RMS_DBFS)
  out["clean"] = [round(si_sdr(v, x), 2) for v in run(net, x, 16000, dtype)]
  return out


def gradient_pass(net, y, x, rate):
  """One forward and backward pass; gradients are left in the parameters. Returns the loss terms
  and the total.
  """
  spectrum = frontend.stft(y, rate)
  with torch.no_grad():
    inputs = frontend.features(spectrum)
  total, terms = losses.loss(net.fast(*inputs, kernels, DTYPE), spectrum, y, x, rate, BYPASS)
  total.backward()
  return torch.cat([terms, total.detach().reshape(1)])


class GraphedPass:
  """gradient_pass for one rate and shape, captured once and replayed."""

  def __init__(self, net, rate, count, n):
    self.params = list(net.parameters())
    self.y, self.x = (torch.randn(count, n, device="cuda") for _ in range(2))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
      for _ in range(2):
        self._clear()
        gradient_pass(net, self.y, self.x, rate)
    torch.cuda.current_stream().wait_stream(stream)
    self._clear()
    self.graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(self.graph):
      self.terms = gradient_pass(net, self.y, self.x, rate)
    self.grads = [p.grad for p in self.params]
    self._clear()

  def _clear(self):
    for p in self.params:
      p.grad = None

  def __call__(self, y, x):
    self.y.copy_(y)
    self.x.copy_(x)
    self.graph.replay()
    for p, g in zip(self.params, self.grads):
      p.grad = g
    return self.terms


def initial(blocks, checkpoint):
  """(network, config, runs so far); the weights are random or grown from a checkpoint's average."""
  config = dict(model.CONFIG, num_tfmamba=blocks)
  net, history = model.ReUse(config).cuda(), []
  if checkpoint:
    state = torch.load(checkpoint, map_location="cuda")
    net.load_state_dict(model.grown(state["ema"], blocks))
    history = state["history"]
  return net, config, history


class Trainer:
  """Network, averaged copy, optimiser, graphs and log of one run."""

  def __init__(self, args, mix, items):
    self.args, self.mix, self.items = args, mix, items
    torch.manual_seed(args.seed)
    self.net, self.config, self.history = initial(args.blocks, args.init)
    self.ema = initial(args.blocks, args.init)[0]
    self.ema.load_state_dict(self.net.state_dict())
    flat = lambda name, p: p.dim() < 2 or "A_log" in name
    groups = [{
        "params": [p for n, p in self.net.named_parameters() if flat(n, p) == f],
        "weight_decay": 0.0 if f else 0.01
    } for f in (False, True)]
    self.optimiser = torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.99), fused=True)
    self.passes = {
        (r, seconds): GraphedPass(self.net, r, max(1, int(s * args.batch / seconds)),
                                  int(seconds * r))
        for seconds in {args.segment, args.last_segment} for r, s in BATCH_SECONDS.items()
    }
    self.side = torch.cuda.Stream()
    self.rng = np.random.default_rng(args.seed + 1)
    self.step, self.seen = 0, 0.0
    self.log = open(args.out + "/train.jsonl", "w", encoding="utf-8")

  def write(self, **entry):
    self.log.write(
        json.dumps({
            "step": self.step,
            "t": round(time.time() - self.begin, 1),
            **entry
        }) + "\n")
    self.log.flush()

  def save(self, name):
    run_info = {
        "steps": self.step,
        "seconds": round(time.time() - self.begin),
        "audio_seconds": self.seen,
        **vars(self.args)
    }
    torch.save(
        {
            "raw": self.net.state_dict(),
            "ema": self.ema.state_dict(),
            "config": self.config,
            "stft": frontend.BASE,
            "input_rms_dbfs": INPUT_RMS_DBFS,
            "bypass": BYPASS,
            "history": self.history + [run_info]
        }, f"{self.args.out}/{name}.part")
    os.replace(f"{self.args.out}/{name}.part", f"{self.args.out}/{name}")

  def mixed(self, seconds):
    """Two steps' items for one rate, made on the side stream while the main one trains."""
    rates, p = list(PROBABILITY), np.array(list(PROBABILITY.values()))
    rate = int(self.rng.choice(rates, p=p / p.sum()))
    graph = self.passes[rate, seconds]
    count = len(graph.y)
    with torch.cuda.stream(self.side):
      y, x = self.mix.batch(rate, 2 * count, seconds)
      order = torch.randperm(2 * count, device="cuda")
      halves = [(graph, rate, y[i], x[i]) for i in (order[:count], order[count:])]
    return halves, self.side.record_event()

  def set_rate(self, done):
    lr = self.args.lr * min(1, (self.step + 1) / WARM_UP) * (0.01 + 0.99 * 0.5 *
                                                             (1 + math.cos(math.pi * done)))
    for group in self.optimiser.param_groups:
      group["lr"] = lr
    return lr

  def fit(self, deadline):
    params, averaged = list(self.net.parameters()), list(self.ema.parameters())
    self.begin = time.time()
    next_check, total, terms_seen, todo, done = CHECK_SECONDS, 0, 0, [], 0.0
    following = self.mixed(self.args.segment)
    while time.time() < deadline:
      share = min(1.0, (time.time() - self.begin) / (deadline - self.begin))
      done = self.args.decay_from + (self.args.decay_to - self.args.decay_from) * share
      lr = self.set_rate(done)
      fresh = not todo
      if fresh:
        todo, ready = following
        torch.cuda.current_stream().wait_event(ready)
      graph, rate, y, x = todo.pop()
      for v in (y, x):
        v.record_stream(torch.cuda.current_stream())
      terms = graph(y, x)
      if fresh:
        following = self.mixed(self.args.segment if done < LAST_PART else self.args.last_segment)
      self.seen += y.numel() / rate
      norm = torch.nn.utils.clip_grad_norm_(params, GRAD_CLIP)
      self.optimiser.grad_scale = None
      self.optimiser.found_inf = (~torch.isfinite(norm)).float().reshape(
          ())  # such a step is skipped
      self.optimiser.step()
      self.step += 1
      with torch.no_grad():
        torch._foreach_lerp_(averaged, params, 1 - min(EMA_DECAY,
                                                       (1 + self.step) / (20 + self.step)))
      if rate == 16000:
        total, terms_seen = total + torch.cat([terms, norm.reshape(1)]), terms_seen + 1
      if self.step % 200 == 0:
        mean = [round(float(v), 4) for v in total / max(terms_seen, 1)] if terms_seen else []
        total, terms_seen = 0, 0
        say(self.step, "lr %.2e" % lr,
            "mag complex phase snr snr2 comp2 heard envelope total gnorm (16k)", mean)
        self.write(lr=lr, terms=mean)
      if time.time() - self.begin > next_check:
        next_check += CHECK_SECONDS
        scores = validate(self.ema, self.items)
        say("VAL", scores)
        self.write(val=scores)
        self.save("latest.pt")
    self.save("final.pt")
    scores = validate(self.ema, self.items, torch.float32)
    say("done:", self.step, "steps,", round(self.seen / 3600, 1), "h of segments; float32 VAL",
        scores)
    self.write(val_float32=scores, audio_seconds=self.seen)
