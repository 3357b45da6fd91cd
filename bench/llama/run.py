#!/usr/bin/env python3
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
"""llama-bench with and without the plugin, taken in turn: what whole models gain.

For each model and thread count, each round runs llama-bench once for every variant: without the
plugin, with its defaults, and with each --also. best_ratio compares the fastest runs of all rounds,
which is what counts on a machine that does other things too; ratio is the median of each round's. tests/plugins/get_ggml.sh --llama builds llama-bench,
tests/plugins/random_models.py writes models.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys


def bench(options, model, threads, words):
  """Tokens per second by test; words: HISS_GGML, None without the plugin."""
  environment = {k: v for k, v in os.environ.items() if k not in ("GGML_BACKEND_PATH", "HISS_GGML")}
  if words is not None:
    environment |= {"GGML_BACKEND_PATH": str(options.plugin.resolve()), "HISS_GGML": words}
  command = [options.llama / "llama-bench", "-m", model, "-t", threads, "-r", options.repetitions,
             "-p", options.prompt, "-n", options.generate, "-o", "json"]
  result = subprocess.run([str(c) for c in command], env=environment, check=False,
                          capture_output=True, text=True)
  if result.returncode:
    sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")
  if words is not None and "loaded HISS backend" not in result.stderr:
    sys.exit(f"llama-bench did not load {options.plugin}: {result.stderr}")
  return {(f"pp{t['n_prompt']}" if t["n_prompt"] else f"tg{t['n_gen']}"): max(t["samples_ts"])
          for t in json.loads(result.stdout)}


def measure(options, model, threads, variants):
  rounds = [{name: bench(options, model, threads, words) for name, words in variants.items()}
            for _ in range(options.rounds)]
  rows = []
  for test in rounds[0]["without"]:
    best = {name: max(r[name][test] for r in rounds) for name in variants}
    for name in variants:
      ratios = [r[name][test] / r["without"][test] for r in rounds]
      rows.append({
          "model": model.stem, "threads": threads, "test": test, "variant": name,
          "tokens_per_s": round(statistics.median(r[name][test] for r in rounds), 2),
          "best_tokens_per_s": round(best[name], 2),
          "best_ratio": round(best[name] / best["without"], 3),
          "ratio": round(statistics.median(ratios), 3),
          "ratios": [round(r, 3) for r in ratios],
      })
      row = rows[-1]
      print(f"{model.stem:<34} {threads} {test:<6} {name:<16} best {row['best_tokens_per_s']:>8.1f} t/s "
            f"{row['best_ratio']:.3f}x, median {row['ratio']:.3f}x ({min(ratios):.3f} to {max(ratios):.3f})",
            flush=True)
  return rows


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("llama", type=pathlib.Path, help="the folder of llama-bench")
  parser.add_argument("plugin", type=pathlib.Path, help="libggml-hiss.so")
  parser.add_argument("models", type=pathlib.Path, nargs="+", help="GGUF files")
  parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
  parser.add_argument("--rounds", type=int, default=7)
  parser.add_argument("--repetitions", type=int, default=1, help="of each test in each run")
  parser.add_argument("--prompt", type=int, default=512)
  parser.add_argument("--generate", type=int, default=64)
  parser.add_argument("--also", nargs="*", default=[], help="further values of HISS_GGML")
  parser.add_argument("--machine", default="", help="in words, for the JSON")
  parser.add_argument("--commit", default="")
  parser.add_argument("--json", type=pathlib.Path)
  options = parser.parse_args()
  variants = {"without": None, "default": ""} | {words: words for words in options.also}
  rows = []
  for model in options.models:
    for threads in options.threads:
      rows += measure(options, model, threads, variants)
  if options.json:
    report = {
        "machine": options.machine, "date": datetime.date.today().isoformat(),
        "commit": options.commit, "rounds": options.rounds, "rows": rows,
    }
    options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
  main()
