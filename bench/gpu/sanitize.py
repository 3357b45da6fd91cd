#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""compute-sanitizer over every row of the CUDA kernels: memcheck and racecheck on the pairs of
kernel and case that `hiss_gpu_check --cover` chose, in several processes beside each other.

  sanitize.py CHECK PAIRS.json [--parts N] [--seconds S] [--tools memcheck racecheck]

Prints each finding once. Ends with 1 where there is one that KNOWN does not name, where an answer
was wrong, or where a process did not come to its end.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time


@dataclasses.dataclass(frozen=True)
class Known:
  """A finding that is none. Both places must match: that of the error and all that it names."""
  tool: str
  place: str
  others: str
  reason: str


TOOLS = ("memcheck", "racecheck")
KNOWN = [
    # The functions that read what write_scalars wrote, behind the wait for its stage.
    Known(
        "racecheck",
        r"ssd::((store|store_all|make)_weights|weigh_rows(_after)?|decay_rows|walk_\w+)\b",
        r"ssd::write_scalars\b",
        "each warp that writes arrives at the stage's mbarrier behind a __syncwarp and each reader "
        "waits for it, which racecheck does not follow"),
]


@dataclasses.dataclass
class Finding:
  text: str
  others: list


def findings_of(output):
  """The records that compute-sanitizer printed: an Error or a Warning line and what follows it up
  to an empty one."""
  found = []
  for line in output.splitlines():
    if not line.startswith("========="):
      continue
    text = line[9:].strip()
    if re.match(r"(Error|Warning|Invalid|Program hit|Misaligned|Leaked|Barrier)", text):
      found.append(Finding(text, []))
    elif found and text.startswith("and "):
      found[-1].others.append(text)
  return found


def short(text):
  """A finding by the names of its functions: without template arguments, parameters, addresses."""
  while re.search(r"<[^<>]*>", text):
    text = re.sub(r"<[^<>]*>", "", text)
  while re.search(r"\([^()]*\)", text):
    text = re.sub(r"\([^()]*\)", "", text)
  text = re.sub(r"\+0x[0-9a-f]+|\[\d+ hazards\]| const\b|\bvoid ", "", text)
  parts = [" ".join(part.split()) for part in text.split(" and ")]
  return " and ".join(dict.fromkeys(parts))


def known(tool, finding):
  """The entry of KNOWN that this is, in either direction, or None."""
  for entry in KNOWN:
    if entry.tool != tool or not finding.others:
      continue
    for here, there in ((entry.place, entry.others), (entry.others, entry.place)):
      if re.search(here, finding.text) and all(re.search(there, x) for x in finding.others):
        return entry
  return None


def judge(tool, code, output):
  """(why this run failed, or "", and how often each known finding was met)."""
  counts = collections.Counter()
  unknown = []
  for finding in findings_of(output):
    entry = known(tool, finding)
    if entry:
      counts[entry] += 1
    else:
      unknown.append(short(" ".join([finding.text, *finding.others])))
  if unknown:
    return "; ".join(dict.fromkeys(unknown)), counts
  if not re.search(r"^0 wrong$", output, re.M):
    return f"no answer, or a wrong one (ended with {code})", counts
  if not re.search(r"^========= (ERROR|RACECHECK) SUMMARY", output, re.M):
    return "compute-sanitizer did not come to its end", counts
  if code not in (0, 99) or (code == 99 and not counts):
    return f"ended with {code}", counts
  return "", counts


def parts_of_machine():
  """Processes of each tool."""
  return max(1, (os.cpu_count() or 2) // len(TOOLS))


def split(pairs, parts):
  """As many lists, with neighbours, which cost alike, in different ones."""
  return [part for part in (pairs[i::parts] for i in range(parts)) if part]


def run_part(tool, check, file, seconds):
  """(failure or "", known findings, what it printed) of one process, ended with all its children
  after so many seconds."""
  process = subprocess.Popen([
      "compute-sanitizer", "--tool", tool, "--error-exitcode", "99", "--print-limit", "1000",
      str(check), "--pairs",
      str(file)
  ],
                             stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT,
                             text=True,
                             start_new_session=True)
  try:
    output = process.communicate(timeout=seconds)[0]
  except subprocess.TimeoutExpired:
    os.killpg(process.pid, signal.SIGKILL)
    output = process.communicate()[0]
    return f"not at its end after {seconds} s", collections.Counter(), output
  return *judge(tool, process.returncode, output), output


def sanitize(check, pairs, tools, parts, seconds):
  """What was found, also printed: a dict with "clean", and for each tool its cases, what was not
  counted and what failed. None without a compute-sanitizer."""
  if not shutil.which("compute-sanitizer"):
    print("compute-sanitizer: not on PATH, skipped")
    return None
  begin = time.monotonic()
  rows = collections.Counter(pair["kernel"] for pair in pairs)
  print(f"sanitizers: {len(pairs)} cases of {len(rows)} kernels, {parts} processes a tool")
  for row, count in sorted(rows.items()):
    print(f"  {row}: {count} cases", flush=True)
  found = {tool: dict(cases=0, seconds=0, not_counted={}, failed=[]) for tool in tools}
  with tempfile.TemporaryDirectory() as folder, \
      concurrent.futures.ThreadPoolExecutor(len(tools) * parts) as pool:
    jobs = {}
    for number, part in enumerate(split(pairs, parts)):
      file = pathlib.Path(folder, f"{number}.json")
      file.write_text(json.dumps(part))
      for tool in tools:
        jobs[pool.submit(run_part, tool, check, file, seconds)] = tool, len(part)
    for job in concurrent.futures.as_completed(jobs):
      (tool, cases), (failure, counts, output) = jobs[job], job.result()
      mine = found[tool]
      mine["seconds"] = round(time.monotonic() - begin)
      mine["cases"] += 0 if failure else cases
      for entry, count in counts.items():
        name = f"{entry.place} and {entry.others}: {entry.reason}"
        mine["not_counted"][name] = mine["not_counted"].get(name, 0) + count
      print(f'{tool}: {cases} cases, {"FAILED" if failure else "clean"}, {mine["seconds"]} s',
            flush=True)
      if failure:
        mine["failed"].append(failure)
        print(f"{tool} FAILED: {failure}")
        print("\n".join(x for x in output.splitlines() if re.match("=====|WRONG|hiss_", x))[:3000],
              flush=True)
  for tool, mine in found.items():
    print(f'{tool}: {mine["cases"]} of {len(pairs)} cases without a finding, {mine["seconds"]} s')
    for name, count in mine["not_counted"].items():
      print(f"{tool}: not counted, {count} times: {name}")
  return dict(found, clean=not any(mine["failed"] for mine in found.values()), kernels=len(rows))


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("check", type=pathlib.Path, help="the program hiss_gpu_check")
  parser.add_argument("pairs", type=pathlib.Path, help="what hiss_gpu_check --cover wrote")
  parser.add_argument("--parts", type=int, default=parts_of_machine())
  parser.add_argument("--seconds", type=float, default=600, help="that a process may take")
  parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
  options = parser.parse_args()
  pairs = json.loads(options.pairs.read_text())
  found = sanitize(options.check, pairs, options.tools, options.parts, options.seconds)
  return 0 if found is None or found["clean"] else 1


if __name__ == "__main__":
  sys.exit(main())
