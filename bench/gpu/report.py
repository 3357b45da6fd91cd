#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Prints what docs/performance.md says about the GPU from a JSON that merge.py wrote: our best
kernel on each work against its bar and against every peer, as tables in Markdown.

  report.py bench/results/gpu-DATE.json [--into docs/performance.md]

With --into they take the place of what the document has between its lines
"<!-- NAME: begin -->" and "<!-- NAME: end -->" for the names gpu-run, gpu-bars, gpu-peers,
gpu-sweep and gpu-losses.
"""
import argparse
import collections
import json
import pathlib

import merge
import sanitize

# What the kernels must reach, in microseconds: (operator, sizes and type, at most, aim). The bars of
# the convolution and of decoding are shares of the copy speed: see bar_of.
BARS = [
    ("selective_scan", dict(batch=161, seqlen=251, dim=256, dtype="F32"), 80, 60),
    ("selective_scan", dict(batch=251, seqlen=161, dim=256, dtype="F32"), 80, 60),
    ("selective_scan", dict(batch=1, seqlen=2048, dim=5120, dtype="F32"), 110, 70),
    ("selective_scan", dict(batch=1, seqlen=2048, dim=5120, dtype="BF16"), 85, 55),
    ("selective_scan", dict(batch=1, seqlen=16384, dim=5120, dtype="F32"), 800, 500),
    ("selective_scan", dict(batch=1, seqlen=16384, dim=5120, dtype="BF16"), 600, 400),
    ("ssd_chunk_scan", dict(batch=1, seqlen=2048, nheads=80, headdim=64, dtype="BF16"), 40, 24),
    ("ssd_chunk_scan", dict(batch=1, seqlen=8192, nheads=80, headdim=64, dtype="BF16"), 130, 80),
    ("ssd_chunk_scan", dict(batch=1, seqlen=65536, nheads=80, headdim=64, dtype="BF16"), 1000, 600),
    ("ssd_chunk_scan", dict(batch=1, seqlen=8192, nheads=24, headdim=128, dtype="BF16"), 130, 70),
    ("ssd_chunk_scan", dict(batch=1, seqlen=8192, nheads=128, headdim=64, dtype="BF16"), 180, 110),
    ("ssd_chunk_scan", dict(batch=1, seqlen=8192, nheads=128, headdim=80, dtype="BF16"), 220, 130),
    ("ssd_chunk_scan", dict(batch=1, seqlen=512, nheads=48, headdim=64, dtype="F32"), 40, 20),
    ("ssd_chunk_scan", dict(batch=1, seqlen=512, nheads=128, headdim=80, dtype="F32"), 85, 45),
]
LARGE = 16e6  # bytes from which the convolution's bar is a share of the copy speed


def bar_of(row, copy_bytes_per_s):
  """(at most, aim) in microseconds, None where nothing is asked."""
  for operator, wanted, most, aim in BARS:
    if row["operator"] == operator and all(row.get(k) == v for k, v in wanted.items()):
      return most, aim
  bound_us = 1e3 * row["bound_ms"]
  if row["operator"] == "causal_conv1d":
    size = 4 if row["dtype"] == "F32" else 2
    bytes_ = 2 * size * row["batch"] * row["seqlen"] * row["dim"]
    floor_us = 1e6 * bytes_ / copy_bytes_per_s
    return (floor_us / 0.9, None) if bytes_ >= LARGE else (1.5 * floor_us + 3, None)
  if row["operator"] == "selective_state_update":
    return (bound_us / 0.8, bound_us / 0.9) if row["batch"] >= 32 else (5, None)
  return None


def best_rows(rows):
  """Of each work the rows of our fastest kernel, in the order of the file."""
  groups = {}
  for row in rows:
    if row["kernel"]:
      groups.setdefault((row["operator"], row["case"], row["dtype"], row.get("layout")),
                        []).append(row)
  for group in groups.values():
    kernel = min(group, key=lambda r: r["median_ms"])["kernel"]
    yield [r for r in group if r["kernel"] == kernel]


def us(value):
  return "" if value is None else f"{value:.0f}" if value >= 99.5 else f"{value:.1f}"


def size_of(row):
  if "nheads" in row:
    text = f'{row.get("seqlen", row.get("ntokens"))} x H{row["nheads"]} P{row["headdim"]} ' \
           f'N{row["dstate"]}'
  else:
    text = f'{row.get("seqlen", row.get("ntokens"))} x {row["dim"]}'
  return f'{row["batch"]} x {text}'


def bars_table(rows, copy_bytes_per_s):
  lines = [
      "| work | type | kernel | us | at most (aim) | of the bound | of a copy of as many bytes |",
      "| --- | --- | --- | --- | --- | --- | --- |"
  ]
  for group in best_rows(rows):
    row = group[0]
    bar = bar_of(row, copy_bytes_per_s)
    if bar is None or row["case"].startswith("sweep"):
      continue
    measured = 1e3 * row["median_ms"]
    most = us(bar[0]) + (f" ({us(bar[1])})" if bar[1] else "")
    verdict = "" if measured <= bar[0] else " **missed**"
    lines.append(
        f'| {row["operator"]} {row["case"]} {row.get("layout", "")} {size_of(row)} | '
        f'{row["dtype"]} | {row["kernel"].split("/")[1]} | {us(measured)}{verdict} | {most} | '
        f'{row["bound_ms"] / row["median_ms"]:.0%} {row["bound_kind"]} | '
        f'{row["copy_ms"] / row["median_ms"]:.0%} |')
  return lines


def peers_table(rows):
  lines = [
      "| work | type | ours, us (without a graph) | peer | us (through Python) | ratio |",
      "| --- | --- | --- | --- | --- | --- |"
  ]
  for group in best_rows(rows):
    for row in group:
      if "peer" not in row or row["case"].startswith("sweep"):
        continue
      theirs = us(1e3 * row["peer_median_ms"]) if "peer_median_ms" in row else row["peer_status"]
      theirs += f' ({us(1e3 * row["peer_python_ms"])})' if "peer_python_ms" in row else ""
      ratio = f'{row["ratio"]:.1f}' if "ratio" in row else ""
      direct = f' ({us(1e3 * row["direct_ms"])})' if "direct_ms" in row else ""
      lines.append(f'| {row["operator"]} {row["case"]} {row.get("layout", "")} {size_of(row)} | '
                   f'{row["dtype"]} | {us(1e3 * row["median_ms"])}{direct} | '
                   f'{row["peer"].split(" ")[0]} | '
                   f'{theirs} | {ratio} |')
  return lines


def sweep_lines(rows):
  """Per operator: on how many sizes of the sweep our best kernel is no slower than each peer."""
  counts = {}
  for group in best_rows(rows):
    for row in group:
      if row["case"].startswith("sweep") and "ratio" in row:
        entry = counts.setdefault((row["operator"], row["peer"].split(" ")[0]), [])
        entry.append((row["ratio"], size_of(row), row.get("layout", "")))
  for (operator, peer), ratios in counts.items():
    ratio, size, layout = min(ratios)
    won = sum(r[0] >= 1 for r in ratios)
    yield f"- {operator} against {peer}: no slower on {won} of {len(ratios)} sizes, " \
          f"{ratio:.2f} times as fast at the worst ({size} {layout})"


def loss_lines(rows):
  """Each work on which our best kernel is slower than a peer; Python apart."""
  lines = [
      f"- {operator} {case} {layout} {dtype}: {ratio:.2f} times as fast as {peer.split(' ')[0]}"
      for operator, case, layout, dtype, peer, ratio in merge.slower_than_a_peer(rows)
  ]
  return lines or ["- none"]


def run_lines(result, name):
  """Where the rows come from and what was checked."""
  rates = result["ceilings"]
  lines = [
      f'{result["machine"]}, driver {result["driver"]}, {result["date"]}, commit '
      f'{result["commit"]}; rows in `{name}`. A large device copy reached '
      f'{rates["copy_bytes_per_s"] / 1e12:.2f} TB/s, a bf16 product of size 8192 '
      f'{rates["bf16_flop_per_s"] / 1e12:.0f} TFLOP/s.'
  ]
  if "checks" not in result:
    return lines
  found = result["checks"]["sanitizers"]
  lines += [f"**Failed**: {name}." for name in result["checks"].get("failed", {})]
  if not found:
    return lines + ["", "There was no compute-sanitizer."]
  for tool in ("memcheck", "racecheck"):
    mine = found[tool]
    left_out = mine.get("left_out", [])  # records have it since 2026-11-30-4
    text = f'- {tool}: at its end after {mine["seconds"]} s' if mine["failed"] else \
        f'- {tool}: {mine["cases"]} cases of {found["kernels"] - len(left_out)} kernels without ' \
        f'a finding, {mine["seconds"]} s'
    if left_out:
      text += f'; without shared memory, so not run: {", ".join(f"`{row}`" for row in left_out)}'
    places = collections.defaultdict(list)
    for name in sorted(mine["not_counted"]):
      place, reason = name.split(": ", 1)
      places[reason].append(f"`{place}`")
    text += "".join(f'; not counted, as {reason}: {", ".join(those)}'
                    for reason, those in places.items())
    failures = collections.Counter(sanitize.short(failure) for failure in mine["failed"])
    text += "".join(f"; **found** in {count} processes: {failure}"
                    for failure, count in failures.items())
    lines += ([""] if tool == "memcheck" else []) + [text]
  return lines


def with_tables(document, tables):
  """The document with each table between its two marks; ValueError where a mark is missing."""
  for name, lines in tables.items():
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    if document.count(begin) != 1 or document.count(end) != 1:
      raise ValueError(f"the document has no lines for {name}")
    before, rest = document.split(begin)
    document = before + begin + "\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1]
  return document


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("result", type=pathlib.Path)
  parser.add_argument("--into", type=pathlib.Path, help="a document with marks for the tables")
  options = parser.parse_args()
  result = json.loads(options.result.read_text())
  name = options.result.resolve()
  root = pathlib.Path(__file__).resolve().parent.parent.parent
  name = name.relative_to(root) if name.is_relative_to(root) else name.name
  tables = {
      "gpu-run": run_lines(result, name),
      "gpu-bars": bars_table(result["rows"], result["ceilings"]["copy_bytes_per_s"]),
      "gpu-peers": peers_table(result["rows"]),
      "gpu-sweep": list(sweep_lines(result["rows"])),
      "gpu-losses": loss_lines(result["rows"]),
  }
  if options.into:
    options.into.write_text(with_tables(options.into.read_text(), tables))
  else:
    print("\n\n".join("\n".join(lines) for lines in tables.values()))


if __name__ == "__main__":
  main()
