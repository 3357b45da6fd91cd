#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""The measurement of the CUDA kernels, on a machine with an NVIDIA GPU:

  1. every kernel against the float64 reference (hiss_gpu_check)
  2. compute-sanitizer, memcheck and racecheck, on its small cases (hiss_gpu_check --small)
  3. our times on cases.py (hiss_gpu_check --cases)
  4. the peers on the same work (time_peers.py), on the same machine, right after
  5. one table with ratios and shares of the bound, and one JSON (merge.py)

A step that fails ends the run with its exit code; only missing peers and a missing
compute-sanitizer are skipped, with a line that says so. For the peers: build_peers.py.
"""
import argparse
import datetime
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import cases

HERE = pathlib.Path(__file__).resolve().parent


def say(text):
  print(f"== {text}", flush=True)


def run(*command):
  result = subprocess.run([str(x) for x in command], check=False)
  if result.returncode:
    sys.exit(f"bench gpu: {command[0]} ended with {result.returncode}")


def said(*command):
  """What a command prints; nothing where it is not there or fails."""
  if not shutil.which(command[0]):
    return ""
  result = subprocess.run(command, check=False, capture_output=True, text=True)
  return result.stdout.strip() if result.returncode == 0 else ""


def sanitize(check):
  sanitizer = shutil.which("compute-sanitizer")
  if not sanitizer:
    say("compute-sanitizer: not on PATH, skipped")
    return
  for tool in ("memcheck", "racecheck"):
    say(f"compute-sanitizer {tool}")
    run(sanitizer, "--tool", tool, "--error-exitcode", "99", check, "--small")


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("check", type=pathlib.Path, help="the program hiss_gpu_check")
  parser.add_argument("--peers",
                      default=HERE.parent.parent / "build" / "peers",
                      help="folder of the unpacked peers")
  parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
  parser.add_argument("--filter",
                      default="",
                      help="regular expression on 'operator case dtype' of what is timed")
  parser.add_argument("--sweep", action="store_true", help="the sweep of sizes, too")
  parser.add_argument("--times-only", action="store_true", help="steps 3 to 5")
  parser.add_argument("--json", help="write the rows here")
  parser.add_argument("--commit",
                      default=said("git", "-C", str(HERE), "rev-parse", "--short", "HEAD"),
                      help="where this is no clone: what is measured")
  options = parser.parse_args()

  machine = said("nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "-i", "0")
  driver = said("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "-i", "0")
  if not machine:
    sys.exit("bench gpu: no NVIDIA GPU here (nvidia-smi finds none)")
  if not options.times_only:
    say("correctness")
    run(options.check, "--check-only")
    sanitize(options.check)
  with tempfile.TemporaryDirectory() as folder:
    work, ours, peers = (pathlib.Path(folder, f"{x}.json") for x in ("work", "ours", "peers"))
    work.write_text(json.dumps(cases.matching(options.filter, options.sweep)))
    say("our times")
    run(options.check, "--cases", work, "--json", ours)
    say("the peers")
    run(options.python, HERE / "time_peers.py", "--peers", options.peers, "--json", peers,
        *(["--filter", options.filter] if options.filter else []),
        *(["--sweep"] if options.sweep else []))
    say("together")
    run(options.python, HERE / "merge.py", ours, peers,
        *(["--json", options.json] if options.json else []), "--machine", machine, "--driver",
        driver, "--date",
        datetime.date.today().isoformat(), "--commit", options.commit, "--command",
        shlex.join(["bench/gpu/run.py", *sys.argv[1:]]))
  return 0


if __name__ == "__main__":
  sys.exit(main())
