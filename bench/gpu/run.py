#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""The measurement of the CUDA kernels, on a machine with an NVIDIA GPU:

  1. every kernel against the float64 reference (hiss_gpu_check), then compute-sanitizer, memcheck
     and racecheck, on the small cases of each operator (hiss_gpu_check --small), beside each other
  2. operator by operator, our times on cases.py (hiss_gpu_check --cases), then the peers' on the
     same work (time_peers.py)
  3. one table with ratios and shares of the bound, and one JSON (merge.py)

A step that fails ends the run with its exit code; only missing peers and a missing
compute-sanitizer are skipped, with a line that says so. For the peers: build_peers.py.
report.py makes the tables of docs/performance.md from the JSON.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
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


def sanitizers(check):
  """The commands that look for bad memory accesses and races, by name."""
  sanitizer = shutil.which("compute-sanitizer")
  if not sanitizer:
    say("compute-sanitizer: not on PATH, skipped")
    return {}
  commands = {}
  for operator in sorted({case["operator"] for case in cases.named()}):
    for tool in ("memcheck", "racecheck"):
      commands[f"{tool} {operator}"] = [
          sanitizer, "--tool", tool, "--error-exitcode", "99", check, "--small", "--filter",
          f"^{operator}/"
      ]
  return commands


def run_beside(commands):
  """All at once; what each printed when it ends. Ends the run after the last if one has failed."""

  def one(name):
    command = [str(x) for x in commands[name]]
    result = subprocess.run(command,
                            check=False,
                            stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT,
                            text=True)
    say(f"{name}: ended with {result.returncode}")
    print(result.stdout, end="", flush=True)
    return result.returncode

  with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    codes = dict(zip(commands, pool.map(one, commands)))
  failed = {name: code for name, code in codes.items() if code}
  if failed:
    sys.exit(f"bench gpu: {failed}")


def time_operator(options, work, folder):
  """(our rows, the peers' rows and the ceilings of the machine) on these cases."""
  paths = [pathlib.Path(folder, f"{x}.json") for x in ("work", "ours", "peers")]
  paths[0].write_text(json.dumps(work))
  say(f'{work[0]["operator"]}: our times')
  run(options.check, "--cases", paths[0], "--json", paths[1])
  say(f'{work[0]["operator"]}: the peers')
  run(options.python, HERE / "time_peers.py", "--peers", options.peers, "--cases", paths[0],
      "--json", paths[2])
  ours, peers = (json.loads(path.read_text()) for path in paths[1:])
  return ours["rows"], peers["rows"], peers["ceilings"]


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
  parser.add_argument("--checks-only", action="store_true", help="step 1")
  parser.add_argument("--times-only", action="store_true", help="steps 2 and 3")
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
    run_beside(sanitizers(options.check))
  if options.checks_only:
    return 0
  wanted = cases.matching(options.filter, options.sweep)
  if not wanted:
    sys.exit(f"bench gpu: no case matches {options.filter!r}")
  ours, peers, ceilings = [], [], {}
  with tempfile.TemporaryDirectory() as folder:
    for operator in dict.fromkeys(case["operator"] for case in wanted):
      work = [case for case in wanted if case["operator"] == operator]
      our_rows, peer_rows, limits = time_operator(options, work, folder)
      ours += our_rows
      peers += peer_rows
      # Measured once an operator: the best of them is what the machine can do.
      ceilings = {k: max(v, ceilings.get(k, 0)) for k, v in limits.items()}
      # After each operator: a run that is ended early leaves what it has.
      paths = [pathlib.Path(folder, f"{x}.json") for x in ("ours", "peers")]
      paths[0].write_text(json.dumps({"rows": ours}))
      paths[1].write_text(json.dumps({"rows": peers, "ceilings": ceilings}))
      say(f"together, up to {operator}")
      run(options.python, HERE / "merge.py", *paths,
          *(["--json", options.json] if options.json else []), "--machine", machine, "--driver",
          driver, "--date",
          datetime.date.today().isoformat(), "--commit", options.commit, "--command",
          shlex.join(["bench/gpu/run.py", *sys.argv[1:]]))
  return 0


if __name__ == "__main__":
  sys.exit(main())
