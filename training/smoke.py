# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""GPU checks behind train.py --smoke: kernels against plain PyTorch in float64, graph against
eager, times, profile.
"""
import time

import torch
import torch.nn.functional as F

import frontend
import kernels
import losses
import model
import trainer

SIZES = (4, 6, 8)


def relative(a, b):
  return ((a.double() - b.double()).norm() / b.double().norm()).item()


def check_kernels():
  torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
  layer = model.BiMamba(32, model.CONFIG).cuda()
  exact = model.BiMamba(32, model.CONFIG).cuda().double()
  exact.load_state_dict({k: v.double() for k, v in layer.state_dict().items()})
  x = torch.randn(6, 37, 32, device="cuda")
  a, b = x.clone().requires_grad_(), x.double().requires_grad_()
  ya, yb = layer(a, kernels), exact(b)
  w = torch.randn_like(ya)
  (ya * w).sum().backward()
  (yb * w.double()).sum().backward()
  worst = max((relative(p.grad, q.grad), n)
              for (n, p), q in zip(layer.named_parameters(), exact.parameters()))
  trainer.say("bimamba: output %.1e, input gradient %.1e, worst parameter gradient %.1e %s" %
              (relative(ya, yb), relative(a.grad, b.grad), *worst))
  if not max(relative(ya, yb), relative(a.grad, b.grad), worst[0]) < 1e-4:
    raise RuntimeError("the Mamba kernels do not agree with the plain definition")
  for dtype in (torch.float32, torch.bfloat16):
    stage = model.cna(torch.nn.Identity(), 32).cuda()
    for p in stage.parameters():
      torch.nn.init.normal_(p)
    x = (torch.randn(3, 41, 29, 32, device="cuda") * 2 + 0.3).to(dtype)
    a, b = x.clone().requires_grad_(), x.double().requires_grad_()
    ya = kernels.norm_prelu(a, stage)
    yb = F.prelu(
        F.instance_norm(b.permute(0, 3, 1, 2),
                        weight=stage[1].weight.double(),
                        bias=stage[1].bias.double()), stage[2].weight.double()).permute(0, 2, 3, 1)
    g = torch.randn_like(ya)
    ya.backward(g)
    yb.backward(g.double())
    trainer.say("norm", dtype,
                "output %.1e gradient %.1e" % (relative(ya, yb), relative(a.grad, b.grad)))


def check_network(mix):
  net = model.ReUse().cuda()
  y, _ = mix.batch(8000, 2, 1.0)
  mag, phase = frontend.features(frontend.stft(y, 8000))
  with torch.no_grad():
    want, angle = net(mag, phase)
    got, cos, _ = net.fast(mag, phase, kernels)
    trainer.say("network fast against plain: mag %.1e cos %.1e, bf16 mag %.1e" %
                (relative(got, want), relative(cos, torch.cos(angle)),
                 relative(net.fast(mag, phase, kernels, trainer.DTYPE)[0], want)))
  back = losses.istft(frontend.stft(y, 8000), 8000, y.shape[1])
  trainer.say("istft %.1e" % relative(back, y))


def timed(f, repeats):
  f()
  torch.cuda.synchronize()
  start = time.time()
  for _ in range(repeats):
    f()
  torch.cuda.synchronize()
  return (time.time() - start) / repeats * 1e3


def compare_sizes(args, mix):
  """Time of a pass and loss on the same items as blocks are added to the start."""
  y, x = mix.batch(16000, 8, 2.0)
  for blocks in SIZES:
    net = trainer.initial(blocks, args.init)[0]
    graph = trainer.GraphedPass(net, 16000, 8, 32000)
    trainer.say(blocks, "blocks: graph ms %.1f" % timed(lambda: graph(y, x), 20), "terms",
                [round(v, 4) for v in graph(y, x).tolist()], "gradients finite",
                all(bool(torch.isfinite(g).all()) for g in graph.grads))


def main(args, mix, items):
  check_network(mix)
  for rate in trainer.PROBABILITY:
    y, x = mix.batch(rate, 8, args.segment)
    snr = 10 * torch.log10(x.square().sum(1) / (y - x).square().sum(1).clamp(min=1e-9))
    trainer.say(rate, "finite", bool(torch.isfinite(y).all() and torch.isfinite(x).all()), "snr",
                [round(v) for v in snr.tolist()])
  compare_sizes(args, mix)
  loop = trainer.Trainer(args, mix, items)
  for (rate, seconds), graph in loop.passes.items():
    count = len(graph.y)
    y, x = mix.batch(rate, count, seconds)
    ms = timed(lambda: graph(y, x), 10)
    graphed = graph(y, x).clone()
    loop.net.zero_grad(set_to_none=True)
    eager = trainer.gradient_pass(loop.net, y, x, rate)
    loop.net.zero_grad(set_to_none=True)
    trainer.say(
        rate, seconds, "s, batch", count, "graph ms %.1f, mixing of two steps ms %.1f" %
        (ms, timed(lambda: mix.batch(rate, 2 * count, seconds), 3)),
        "loss graph/eager %.4f %.4f" % (graphed[-1], eager[-1]), "terms",
        [round(v, 3) for v in graphed.tolist()])
  graph = loop.passes[16000, args.segment]
  with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
    graph(graph.y, graph.x)
    torch.cuda.synchronize()
  print(profile.key_averages().table(sort_by="cuda_time_total",
                                     row_limit=28,
                                     max_name_column_width=70),
        flush=True)
  loop.fit(time.time() + 25)
