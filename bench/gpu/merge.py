#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Puts our rows and the peers' rows on the same work side by side: one table, one dated JSON in
the row format of the CPU benchmark.

  merge.py OURS.json PEERS.json [--json FILE] [--checks FILE] [--date D --commit C --command TEXT]

OURS.json is what hiss_gpu_check wrote, PEERS.json what time_peers.py did. Work is the same when
operator, type and all sizes are. A ratio is the peer's time over ours, both
without Python; a peer whose answer is wrong, or that failed, has no time and no ratio.
"""
import argparse
import json
import sys

import cases

SIZES = ("batch", "seqlen", "ntokens", "dim", "width", "dstate", "nheads", "headdim", "ngroups")
KEPT = ("operator", "kernel", "case", "dtype", "precision", "spread", "error") + SIZES


# What counts too, for the operators whose cases name it.
BESIDES = {"causal_conv1d": ("layout",), "ssd_chunk_scan": ("state_dtype",)}


def sizes_of(row):
  names = SIZES + BESIDES.get(row["operator"], ())
  return {k: row[k] for k in names if k in row}


def work_of(row):
  """What makes two rows the same work."""
  return (row["operator"], row["dtype"]) + tuple(sorted(sizes_of(row).items()))


def of_check(row):
  """A row of hiss_gpu_check in the format of the other benchmarks: what is kept of it, in ms."""
  kept = {k: row[k] for k in KEPT if k in row}
  return dict(kept,
              **sizes_of(row),
              median_ms=row["median_us"] / 1e3,
              direct_ms=row["direct_us"] / 1e3,
              copy_ms=row["copy_us"] / 1e3)


def with_bounds(rows, ceilings):
  """Our rows with the time that the machine's ceilings allow for the work."""
  bounds = (cases.bound(row, ceilings) for row in rows)
  return [dict(row, bound_ms=ms, bound_kind=kind) for row, (ms, kind) in zip(rows, bounds)]


def merged(ours, peers):
  """A row for each of ours and each peer on its work; ours alone where there is no peer; peers'
  work that we have no row for comes last, with no kernel."""
  by_work = {}
  for row in peers:
    by_work.setdefault(work_of(row), []).append(row)
  rows, met = [], set()
  for row in ours:
    work = work_of(row)
    met.add(work)
    for peer in by_work.get(work) or [None]:
      rows.append(dict(row, **peer_part(peer, row["median_ms"])))
  for work, group in by_work.items():
    if work not in met:
      rows += [dict(identity(peer), kernel=None, **peer_part(peer, None)) for peer in group]
  return rows


def identity(row):
  return dict({k: row[k] for k in ("operator", "case", "dtype")}, **sizes_of(row))


def peer_part(peer, our_ms):
  if peer is None:
    return {}
  part = {"peer": peer["peer"]}
  if "error" in peer:
    part["peer_error"] = peer["error"]
  if "note" in peer:
    part["peer_note"] = peer["note"]
  for reason in ("wrong", "failed", "missing"):
    if reason in peer:
      part["peer_status"] = reason if reason == "wrong" else f"{reason}: {peer[reason]}"
      return part
  part["peer_median_ms"] = peer["median_ms"]
  if "python_ms" in peer:
    part["peer_python_ms"] = peer["python_ms"]
  if our_ms is not None:
    part["ratio"] = peer["median_ms"] / our_ms
  return part


def table(rows):
  lines = []
  for row in rows:
    line = f'{row["operator"]:22} {row["case"]:28} {row["dtype"]:4} {row["kernel"] or "-":44}'
    if row["kernel"]:
      line += f'{1e3 * row["median_ms"]:9.1f} us ({1e3 * row["direct_ms"]:9.1f} us direct) ' \
              f'{row["bound_ms"] / row["median_ms"]:5.0%} of ' \
              f'{row["bound_kind"]:7}'
    if "peer" in row:
      line += f' {row["peer"].split()[0]:14}'
      line += f'{1e3 * row["peer_median_ms"]:9.1f} us' if "peer_median_ms" in row \
          else f' {row["peer_status"]}'
      line += f' ({1e3 * row["peer_python_ms"]:9.1f} us python)' if "peer_python_ms" in row else ""
      line += f' {row["ratio"]:6.2f}x' if "ratio" in row else ""
    lines.append(line)
  return "\n".join(lines)


def slower_than_a_peer(rows):
  """Work on which our best kernel loses to a peer: (operator, case, layout, dtype, peer, ratio)."""
  best = {}
  for row in rows:
    if "ratio" in row:
      key = (row["operator"], row["case"], row.get("layout", ""), row["dtype"], row["peer"])
      best[key] = max(best.get(key, 0), row["ratio"])
  return [key + (ratio,) for key, ratio in best.items() if ratio < 1]


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("ours")
  parser.add_argument("peers")
  parser.add_argument("--json")
  parser.add_argument("--checks", help="what run.py's step 1 found, to go into the JSON")
  for name in ("date", "machine", "driver", "commit", "command"):
    parser.add_argument(f"--{name}", default="")
  options = parser.parse_args()
  with open(options.ours) as a, open(options.peers) as b:
    ours, peers = json.load(a), json.load(b)
  ours = with_bounds([of_check(row) for row in ours["rows"]], peers["ceilings"])
  rows = merged(ours, peers["rows"])
  print(table(rows))
  for loss in slower_than_a_peer(rows):
    print("slower than a peer: %s %s %s %s, %s: %.2fx" % loss)
  if options.json:
    header = {k: getattr(options, k) for k in ("date", "machine", "driver", "commit", "command")}
    if options.checks:
      with open(options.checks) as file:
        header["checks"] = json.load(file)
    with open(options.json, "w") as file:
      json.dump(dict(header, ceilings=peers["ceilings"], rows=rows), file, indent=1, sort_keys=True)
      file.write("\n")
  return 0


if __name__ == "__main__":
  sys.exit(main())
