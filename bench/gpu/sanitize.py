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
LANE_0 = ("lane 0 of each warp arrives at the stage's mbarrier behind a __syncwarp and who goes on "
          "waits for it, which racecheck does not follow")
KNOWN = [
    # Numbers of a chunk: the functions that read them, behind the wait for their stage. What
    # walk_states reads may have no line and go by the name of its kernel.
    Known("racecheck",
          r"ssd::((store|store_all|make)_weights|weigh_rows(_after)?|decay_rows|walk_\w+|"
          r"(hopper|bf16)_states)\b", r"ssd::write_scalars\b", LANE_0),
    Known("racecheck",
          r"ssd::(ScaledRows::\w+|weigh_tokens|advance_state|gain_of|finish_y|walk_halves)\b",
          r"(ssd::make_head_chunks|ssd_chunk_scan::make_times)\b", LANE_0),
    # Weights, made by one warpgroup and taken by the others.
    Known("racecheck", r"\bload_matrices\b", r"ssd::weigh_tokens\b", LANE_0),
    # The place of a chunk that is used again.
    Known("racecheck", r"ssd::(finish_y|walk_halves)\b", r"\bload_bytes\b", LANE_0),
    Known("racecheck", r"\bload_transposed\b|ssd::convert_tiles\b",
          r"ssd::(clear_rows|convert_tiles)\b", LANE_0),
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


def subject_to(tool, pairs):
  """The pairs that a tool can find something in: racecheck watches shared memory alone."""
  return [x for x in pairs if tool != "racecheck" or x["shared_memory"]]


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
  """What was found, also printed: a dict with "clean", and for each tool its cases, the kernels
  that it has nothing to find in, what was not counted and what failed. None without a
  compute-sanitizer."""
  if not shutil.which("compute-sanitizer"):
    print("compute-sanitizer: not on PATH, skipped")
    return None
  begin = time.monotonic()
  rows = collections.Counter(pair["kernel"] for pair in pairs)
  print(f"sanitizers: {len(pairs)} cases of {len(rows)} kernels, {parts} processes a tool")
  for row, count in sorted(rows.items()):
    print(f"  {row}: {count} cases", flush=True)
  subjects = {tool: subject_to(tool, pairs) for tool in tools}
  found = {
      tool: dict(cases=0,
                 of=len(mine),
                 seconds=0,
                 left_out=sorted(rows.keys() - {pair["kernel"] for pair in mine}),
                 not_counted={},
                 failed=[]) for tool, mine in subjects.items()
  }
  with tempfile.TemporaryDirectory() as folder, \
      concurrent.futures.ThreadPoolExecutor(len(tools) * parts) as pool:
    jobs = {}
    for tool, mine in subjects.items():
      for number, part in enumerate(split(mine, parts)):
        file = pathlib.Path(folder, f"{tool}_{number}.json")
        file.write_text(json.dumps(part))
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
    print(f'{tool}: {mine["cases"]} of {mine["of"]} cases without a finding, {mine["seconds"]} s')
    if mine["left_out"]:
      print(f'{tool}: kernels without shared memory: {", ".join(mine["left_out"])}')
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
