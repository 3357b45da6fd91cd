#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Writes the model card: configuration, runs, data with attributions, scores, checksum.

  card.py CHECKPOINT.pt MODEL.safetensors --scores QUALITY.json --logs RUN1.jsonl RUN2.jsonl ...

The card goes beside the model with the extension .md, the training curves as <name>-curves.csv and
.png. Text that a
program cannot know (limits, licence reasoning) is in card_text.in.
"""
import argparse
import csv
import hashlib
import json
import os

import torch

import trainer

HERE = os.path.dirname(os.path.abspath(__file__))


def curves(paths, out):
  """Validation of every minute of every run -> CSV and PNG; returns the rows."""
  rows, offset = [], 0.0
  for run, path in enumerate(paths, 1):
    last = 0.0
    with open(path, encoding="utf-8") as f:
      for line in f:
        entry = json.loads(line)
        last = entry["t"]
        if "val" in entry:
          v = entry["val"]
          rows.append({
              "run": run,
              "seconds": round(offset + last),
              "input_16k": v["16000"][0],
              "network_16k": v["16000"][1],
              "output_16k": v["16000"][2],
              "output_8k": v["8000"][2],
              "lsd_48k": v["48000"][4],
              "clean_network": v["clean"][0],
              "clean_output": v["clean"][1]
          })
    offset += last
  with open(out + ".csv", "w", newline="", encoding="utf-8") as f:
    writer = csv.DictWriter(f, rows[0])
    writer.writeheader()
    writer.writerows(rows)
  import matplotlib
  matplotlib.use("Agg")
  from matplotlib import pyplot
  figure, axes = pyplot.subplots(figsize=(6, 3.2), dpi=90)
  for key, label in (("clean_output", "clean in, after bypass"),
                     ("clean_network", "clean in, network"), ("output_16k",
                                                              "noisy 16 kHz, after bypass"),
                     ("network_16k", "noisy 16 kHz, network"), ("output_8k",
                                                                "noisy 8 kHz, after bypass")):
    axes.plot([r["seconds"] for r in rows], [r[key] for r in rows], label=label, linewidth=1)
  axes.set(xlabel="training time in s, all runs", ylabel="SI-SDR in dB")
  axes.legend(fontsize=7, loc="center right")
  axes.grid(alpha=0.3)
  figure.tight_layout()
  figure.savefig(out + ".png")
  return rows


def segments(run):
  reached = run.get("decay_to", 1.0) > trainer.LAST_PART
  last = run.get("last_segment", run["segment"]) if reached else run["segment"]
  return f"{run['segment']:g}" + (f", then {last:g}" if last != run["segment"] else "")


def sources_table():
  with open(os.path.join(HERE, "sources.json"), encoding="utf-8") as f:
    sources = json.load(f)
  lines = ["| recordings | by | licence | used |", "| --- | --- | --- | --- |"]
  for s in sources["speech"] + sources["noise"]:
    if "package" in s:
      origin = f"Debian package `{s['package']}`"
    else:
      origin = f"{s['repository']} at `{s['commit'][:12]}`"
    lines.append(f"| {origin} | {s['author']} | {s['licence']} | {s.get('voices', 'noise')} |")
  return "\n".join(lines) + f"\n\nSynthetic noise: {sources['synthetic']}.\n"


def scores_tables(path):
  with open(path, encoding="utf-8") as f:
    report = json.load(f)
  out = [
      f"Measured {report['date']} on {report['machine']}; "
      "the peers of the same run are in docs/quality.md.\n"
  ]
  for name, part in report["sets"].items():
    shown = {
        s: v
        for s, v in part["mean"].items()
        if s in ("noisy", "hiss", "hiss, network only", "bootstrap model")
    }
    columns = list(shown["noisy"])
    out.append(f"| {name} ({part['items']}) | " + " | ".join(columns) + " |\n" + "| --- " *
               (len(columns) + 1) + "|")
    out += [
        "| " + s + " | " + " | ".join(f"{v[c]:.3f}"
                                      for c in columns) + " |"
        for s, v in shown.items()
    ]
    out.append("")
  return "\n".join(out)


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("checkpoint")
  parser.add_argument("model")
  parser.add_argument("--scores", required=True)
  parser.add_argument("--logs", nargs="+", required=True)
  args = parser.parse_args()
  checkpoint = torch.load(args.checkpoint, map_location="cpu")
  base = args.model.removesuffix(".safetensors")
  name = os.path.basename(base)
  curves(args.logs, base + "-curves")
  with open(args.model, "rb") as f:
    data = f.read()
  count = sum(t.numel() for t in checkpoint["ema"].values())
  with open(os.path.join(HERE, "card_text.in"), encoding="utf-8") as f:
    text = f.read()
  runs = "\n".join(
      f"| {i} | {r['steps']} | {r['seconds']} | {r['audio_seconds'] / 3600:.1f} | {r['lr']:g} | "
      f"{segments(r)} | {'run ' + str(i - 1) if r.get('init') else 'random'} |"
      for i, r in enumerate(checkpoint["history"], 1))
  parts = {
      "NAME":
          name,
      "SHA256":
          hashlib.sha256(data).hexdigest(),
      "BYTES":
          f"{len(data):,}",
      "PARAMETERS":
          f"{count:,}",
      "CONFIG":
          json.dumps({
              "model_cfg": checkpoint["config"],
              "stft_cfg": checkpoint["stft"]
          }, indent=1),
      "LEVEL":
          f"{checkpoint['input_rms_dbfs']:g}",
      "BYPASS":
          json.dumps(checkpoint["bypass"]),
      "RUNS":
          runs,
      "SOURCES":
          sources_table(),
      "SCORES":
          scores_tables(args.scores)
  }
  for key, value in parts.items():
    text = text.replace("{{" + key + "}}", value)
  with open(base + ".md", "w", encoding="utf-8") as f:
    f.write(text)


if __name__ == "__main__":
  main()
