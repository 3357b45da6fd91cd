#!/usr/bin/env python3
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what docs/performance.md says of the CPU, in one go, and keeps it in bench/results.

  record.py PROGRAMS      PROGRAMS: the folder with bench_cpu and bench_re_use
  ./run bench record      builds them and calls it

Two new files: cpu-DATE.json (operators and network beside their contenders) and re_use-DATE.json (the
network's stages). bench/table.py makes the document's tables of them. For a machine with nothing else to do.
"""

import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import time

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
ROOT = RESULTS.parent.parent

# Arguments of bench_cpu, in the order of what matters most. Contenders that take seconds a call get less.
CPU = [
    ["--filter", "^selective_scan.* (mamba_130m|mamba_2.8b|falcon_mamba_7b) ", "--against", "ggml"],
    ["--filter", "^selective_scan.* (re_use_(8k|16k|44k|48k)_time|re_use_(16k|48k)_frequency|bundled_16k_time) standard",
     "--against", "ggml", "--budget", "100"],
    ["--filter", "^ssd_chunk_scan", "--against", "ggml", "--budget", "250"],
    ["--filter", "^(selective_state_update|causal_conv1d_update).*standard", "--against", "ggml"],
    ["--filter", "^causal_conv1d/.* (mamba_130m|granite_4_h_tiny|falcon_mamba_7b|nemotron_nano_9b_v2|re_use_16k_time).* standard",
     "--against", "ggml"],
    ["--filter", "(^ssd|^causal_conv1d/|_update).* (granite_4_h_tiny|falcon_mamba_7b)(_decode)? standard",
     "--against", "torch", "--threads", "1", "--budget", "100"],
    ["--filter", "^selective_scan.* (mamba_130m|falcon_mamba_7b) standard",
     "--against", "torch", "--threads", "1", "--budget", "100"],
    ["--filter", "re_use_16k_5s standard", "--against", "torch", "--threads", "2"],
]
SMALL = ["--model", str(ROOT / "models/hiss-small.safetensors")]
RE_USE = [
    ["--runs", "3"],
    ["--runs", "3", "--precision", "fast"],
    ["--runs", "1", "--threads", "1"],
    ["--rate", "8000", "--runs", "1"],
    ["--rate", "48000", "--runs", "1"],
    ["--rate", "48000", "--runs", "1", "--precision", "fast"],
    [*SMALL, "--runs", "9"],
    [*SMALL, "--runs", "9", "--precision", "fast"],
    [*SMALL, "--runs", "9", "--threads", "1"],
]


def measure(program, arguments):
    """The object that a program writes; its table goes to our output."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "out.json"
        begin = time.monotonic()
        print("+", program.name, *arguments, flush=True)
        subprocess.run([program, *arguments, "--json", path], check=True)
        print(f"  {time.monotonic() - begin:.0f} s", flush=True)
        return json.loads(path.read_text())


def shown(arguments):
    return " ".join(str(a).replace(str(ROOT) + "/", "") for a in arguments)


def new_file(kind):
    name = f"{kind}-{datetime.date.today()}"
    number = 1
    while (path := RESULTS / (name + (f"-{number}" if number > 1 else "") + ".json")).exists():
        number += 1
    return path


def write(path, head, rows):
    """One row a line."""
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    path.write_text(json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + lines + "\n ]\n}\n")
    print("wrote", path.relative_to(ROOT))


def main():
    programs = pathlib.Path(sys.argv[1])
    head, rows = {}, []
    for arguments in CPU:
        report = measure(programs / "bench_cpu", arguments)
        rows += report.pop("rows")
        head = head or report
    head["command"] = "./run bench record"
    head["slices"] = [shown(a) for a in CPU]
    write(new_file("cpu"), head, rows)
    network = []
    for arguments in RE_USE:
        row = measure(programs / "bench_re_use", arguments)
        row["model"] = shown([row["model"]])
        network.append({**row, "command": "./run bench re_use " + shown(arguments)})
    write(new_file("re_use"), {k: head[k] for k in ("date", "machine", "compiler", "commit")}, network)


if __name__ == "__main__":
    main()
