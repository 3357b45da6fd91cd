#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""The measurement of the CUDA kernels, on a machine with an NVIDIA GPU:

  1. every kernel against the float64 reference (hiss_gpu_check) on random inputs that are new in
     each run, and on the stored fixtures, and beside it on models' shapes and large indices; then
     compute-sanitizer, memcheck and racecheck, on cases that reach every kernel (sanitize.py)
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
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile

import cases
import sanitize
from peers import backend_ops

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent.parent / "tests" / "golden" / "ops.safetensors"


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


def run_beside(commands):
  """All at once; what each printed when it ends. Names of those that failed, with their codes."""

  def one(name):
    result = subprocess.run([str(x) for x in commands[name]],
                            check=False,
                            stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT,
                            text=True)
    say(f"{name}: ended with {result.returncode}")
    print(result.stdout, end="", flush=True)
    return result.returncode

  with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
    codes = dict(zip(commands, pool.map(one, commands)))
  return {name: code for name, code in codes.items() if code}


def note_checks(options, failed, found):
  if options.checks:
    options.checks.write_text(
        json.dumps(dict(seed=options.seed, failed=failed, sanitizers=found), indent=1))


def check_all(options, folder):
  """Step 1. Ends the run if a part has failed."""
  say(f"correctness, seed {options.seed}")
  seed = ("--seed", options.seed)
  rows = said(str(options.check), "--rows").split()
  if not rows:
    sys.exit(f"bench gpu: {options.check} names no kernel")
  files = {row: pathlib.Path(folder, f"{number}.json") for number, row in enumerate(rows)}
  with concurrent.futures.ThreadPoolExecutor(1) as pool:
    large = pool.submit(run_beside,
                        {"large shapes": [options.check, "--check-only", "--large", *seed]})
    failed = run_beside({
        f"cases of {row}": [
            options.check, "--small", "--fixtures", FIXTURES, *seed, "--cover", file, "--filter",
            f"^{re.escape(row)} "
        ] for row, file in files.items()
    })
    pairs = [
        pair for file in files.values() if file.exists() for pair in json.loads(file.read_text())
    ]
    say("the sanitizers")
    found = sanitize.sanitize(options.check, pairs, sanitize.TOOLS, options.parts,
                              options.seconds)
    note_checks(options, failed, found)
    failed |= large.result()
  note_checks(options, failed, found)
  if found and not found["clean"]:
    failed["sanitizers"] = 1
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
  parser.add_argument("--seed",
                      type=int,
                      default=secrets.randbelow(1 << 32),
                      help="of the inputs that are checked; without it a new one each run")
  parser.add_argument("--parts",
                      type=int,
                      default=sanitize.parts_of_machine(),
                      help="processes of each sanitizer")
  parser.add_argument("--seconds",
                      type=float,
                      default=600,
                      help="that a process of a sanitizer may take")
  parser.add_argument("--checks",
                      type=pathlib.Path,
                      help="file of what step 1 found, which step 3 puts into the JSON")
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
    with tempfile.TemporaryDirectory() as folder:
      check_all(options, folder)
  if options.checks_only:
    return 0
  wanted = cases.matching(options.filter, options.sweep)
  if not wanted:
    sys.exit(f"bench gpu: no case matches {options.filter!r}")
  ours, peers, ceilings = [], backend_ops.rows(options.peers), {}
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
          *(["--json", options.json] if options.json else []),
          *(["--checks", options.checks] if options.checks and options.checks.exists() else []),
          "--machine", machine, "--driver",
          driver, "--date",
          datetime.date.today().isoformat(), "--commit", options.commit, "--command",
          shlex.join(["bench/gpu/run.py", *sys.argv[1:]]))
  return 0


if __name__ == "__main__":
  sys.exit(main())
