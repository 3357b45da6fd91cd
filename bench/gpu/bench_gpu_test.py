#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Tests of what needs no GPU: merge.py, report.py, and when a peer is timed."""
import contextlib
import copy
import io
import unittest
import unittest.mock

import cases
import merge
import report
from peers import backend_ops
from peers.measure import measure
from peers.work import Missing, Work

OURS = {
    "operator": "ssd_chunk_scan",
    "kernel": "ssd_chunk_scan/cuda.sm90.a",
    "case": "ours_name",
    "dtype": "BF16",
    "precision": "fast",
    "batch": 1,
    "seqlen": 2048,
    "nheads": 80,
    "headdim": 64,
    "dstate": 128,
    "ngroups": 1,
    "median_ms": 0.02,
    "direct_ms": 0.025,
    "spread": 0.01,
    "bound_ms": 0.01,
    "bound_kind": "memory",
    "error": 1e-3,
}
PEER = {
    "operator": "ssd_chunk_scan",
    "case": "peers_name",
    "dtype": "BF16",
    "batch": 1,
    "seqlen": 2048,
    "nheads": 80,
    "headdim": 64,
    "dstate": 128,
    "ngroups": 1,
    "peer": "other 1.0",
    "median_ms": 0.1,
    "python_ms": 0.8,
    "spread": 0.01,
    "error": 2e-3,
}


def peer(**changes):
  row = dict(copy.deepcopy(PEER), **changes)
  return {k: v for k, v in row.items() if v is not None}


LIMITS = {"copy_bytes_per_s": 4e12, "bf16_flop_per_s": 7e14, "exp_per_s": 4e12}


class Clock:
  """Says that a call takes a microsecond, and counts how often it was asked."""

  def __init__(self):
    self.asked = 0

  def eager(self, calls):
    self.asked += 1
    return 0.002, 0.0

  def replayed(self, calls):
    self.asked += 1
    return 0.001, 0.0


class FakePeer:
  """Answers with this error, or raises it."""

  def __init__(self, answer):
    self.answer = answer

  def work(self, case, bytes_):
    if isinstance(self.answer, Missing):
      raise self.answer

    def check():
      if isinstance(self.answer, Exception):
        raise self.answer
      return self.answer

    return Work([lambda: None], check) if self.answer is not None else None


class Measure(unittest.TestCase):

  def row(self, answer):
    self.clock = Clock()
    case = dict(merge.identity(PEER))
    return measure("fake", FakePeer(answer), case, self.clock, LIMITS)

  def test_a_right_answer_is_timed_with_and_without_python(self):
    row = self.row(1e-3)
    self.assertEqual((row["median_ms"], row["python_ms"]), (0.001, 0.002))
    self.assertEqual(row["bound_kind"], "memory")

  def test_a_wrong_answer_is_told_and_not_timed(self):
    for error in (0.5, float("inf"), float("nan")):
      row = self.row(error)
      self.assertTrue(row["wrong"])
      self.assertNotIn("median_ms", row)
      self.assertEqual(self.clock.asked, 0)

  def test_a_failing_peer_is_a_row_with_the_reason(self):
    self.assertEqual(self.row(RuntimeError("no\n memory"))["failed"], "no memory")
    self.assertEqual(self.row(Missing("get it"))["missing"], "get it")

  def test_a_peer_without_the_operator_has_no_row(self):
    self.assertIsNone(self.row(None))


class Merge(unittest.TestCase):

  def test_the_same_work_meets_whatever_its_name(self):
    (row,) = merge.merged([OURS], [PEER])
    self.assertEqual(row["case"], "ours_name")
    self.assertEqual(row["peer"], "other 1.0")
    self.assertAlmostEqual(row["ratio"], 5.0)
    self.assertEqual(row["peer_python_ms"], 0.8)

  def test_rows_of_the_check_come_in_milliseconds_and_meet_theirs(self):
    row = dict(OURS, median_us=20.0, direct_us=25.0, copy_us=12.0, layout="channels_last", nslots=1, wrong="")
    del row["median_ms"], row["direct_ms"]
    row = merge.of_check(row)
    self.assertAlmostEqual(row["median_ms"], 0.02)
    self.assertAlmostEqual(row["copy_ms"], 0.012)
    self.assertAlmostEqual(row["direct_ms"], 0.025)
    self.assertNotIn("nslots", row)
    (met,) = merge.merged(merge.with_bounds([row], LIMITS), [PEER])
    self.assertAlmostEqual(met["ratio"], 5.0)

  def test_the_layout_of_a_convolution_is_a_part_of_the_work(self):
    conv = {"operator": "causal_conv1d", "dtype": "F32", "layout": "channels_last"}
    self.assertNotEqual(merge.work_of(conv), merge.work_of(dict(conv, layout="channels_first")))

  def test_the_type_of_the_state_is_a_part_of_the_work_of_ssd(self):
    ours = [dict(OURS, state_dtype=x) for x in ("F32", "BF16")]
    rows = merge.merged(ours, [peer(state_dtype="BF16")])
    self.assertEqual(["peer" in row for row in rows], [False, True])

  def test_our_rows_get_the_bound_of_their_work(self):
    bare = {k: v for k, v in OURS.items() if not k.startswith("bound")}
    (fast,), (slow,) = (
        merge.with_bounds([bare], dict(LIMITS, copy_bytes_per_s=rate)) for rate in (4e12, 2e12))
    self.assertEqual(fast["bound_kind"], "memory")
    self.assertAlmostEqual(slow["bound_ms"], 2 * fast["bound_ms"])

  def test_another_size_or_type_is_other_work(self):
    for change in ({"seqlen": 4096}, {"dtype": "F32"}, {"operator": "selective_scan"}):
      rows = merge.merged([OURS], [peer(**change)])
      self.assertEqual(len(rows), 2)
      self.assertNotIn("peer", rows[0])
      self.assertIsNone(rows[1]["kernel"])
      self.assertNotIn("ratio", rows[1])

  def test_a_wrong_answer_has_no_time(self):
    (row,) = merge.merged([OURS], [peer(wrong=True, error=0.7)])
    self.assertEqual(row["peer_status"], "wrong")
    self.assertEqual(row["peer_error"], 0.7)
    self.assertNotIn("ratio", row)
    self.assertNotIn("peer_median_ms", row)
    self.assertIn("wrong", merge.table([row]))

  def test_a_failure_is_told_with_its_reason(self):
    failed = peer(failed="out of memory", median_ms=None, python_ms=None, error=None)
    (row,) = merge.merged([OURS], [failed])
    self.assertEqual(row["peer_status"], "failed: out of memory")
    self.assertNotIn("ratio", row)

  def test_every_peer_and_every_kernel_gets_a_row(self):
    other = dict(OURS, kernel="ssd_chunk_scan/cuda.sm80.b", median_ms=0.2)
    rows = merge.merged([OURS, other], [PEER, peer(peer="third 2.0", median_ms=0.05)])
    self.assertEqual(len(rows), 4)
    self.assertEqual({(r["kernel"], r["peer"]) for r in rows},
                     {(k["kernel"], p) for k in (OURS, other) for p in ("other 1.0", "third 2.0")})

  def test_losses_are_those_of_the_best_kernel(self):
    slow = dict(OURS, kernel="ssd_chunk_scan/cuda.sm80.b", median_ms=0.2)
    self.assertEqual(merge.slower_than_a_peer(merge.merged([OURS, slow], [PEER])), [])
    ((*_, who, ratio),) = merge.slower_than_a_peer(merge.merged([slow], [PEER]))
    self.assertEqual(who, "other 1.0")
    self.assertAlmostEqual(ratio, 0.5)

  def test_the_table_has_a_line_for_each_row(self):
    rows = merge.merged([OURS], [PEER, peer(seqlen=1), peer(wrong=True)])
    self.assertEqual(len(merge.table(rows).splitlines()), len(rows))


class Report(unittest.TestCase):
  DOCUMENT = "before\n<!-- a: begin -->\nold\n<!-- a: end -->\nafter\n"

  def test_a_table_takes_the_place_of_the_old_one(self):
    once = report.with_tables(self.DOCUMENT, {"a": ["| new |", "| --- |"]})
    self.assertEqual(
        once, "before\n<!-- a: begin -->\n\n| new |\n| --- |\n\n<!-- a: end -->\nafter\n")
    self.assertEqual(report.with_tables(once, {"a": ["| new |", "| --- |"]}), once)

  def test_a_document_without_the_marks_is_an_error(self):
    with self.assertRaisesRegex(ValueError, "no lines for b"):
      report.with_tables(self.DOCUMENT, {"b": ["x"]})

  def test_what_is_above_its_bar_is_called_missed(self):
    row = dict(OURS, copy_ms=0.01)
    for median_ms, missed in ((0.039, 0), (0.041, 1)):
      table = "\n".join(report.bars_table([dict(row, median_ms=median_ms)], 4e12))
      self.assertEqual(table.count("**missed**"), missed)


PERF = """Backend 1/2: CUDA0
  SSM_CONV(type=f32,ne_a=[515,3328,1,1],ne_b=[4,3328,1,1]):   8192 runs -     9.80 us/run -    13000 kB/run
  SSM_CONV(type=f32,ne_a=[4,3328,1,1],ne_b=[4,3328,1,1]):     8192 runs -     3.70 us/run -      160 kB/run
  SSM_SCAN(type=f32,d_state=128,head_dim=64,n_head=48,n_group=1,n_seq_tokens=512,n_seqs=1,K=1):  1 runs -   120.00 us/run - 1 kB/run
  SSM_SCAN(type=f32,d_state=128,head_dim=80,n_head=128,n_group=1,n_seq_tokens=1,n_seqs=1,K=1):   1 runs -     4.80 us/run - 1 kB/run
  ADD(type=f32,ne=[4,4,1,1]):   1 runs -     1.00 us/run - 1 kB/run
  SSM_SCAN(type=f32,d_state=16,head_dim=1): not supported
"""


class BackendOps(unittest.TestCase):

  def test_its_lines_become_rows_of_our_work(self):
    rows = backend_ops.parse(PERF)
    self.assertEqual([(r["operator"], round(r["median_ms"], 6)) for r in rows],
                     [("causal_conv1d", 0.0098), ("causal_conv1d_update", 0.0037),
                      ("ssd_chunk_scan", 0.12), ("selective_state_update", 0.0048)])

  def test_they_meet_the_cases_that_are_timed(self):
    works = {merge.work_of(case) for case in cases.named()}
    for row in backend_ops.parse(PERF):
      self.assertIn(merge.work_of(row), works)

  def test_a_row_without_python_has_none_in_the_tables(self):
    row = dict(OURS, **merge.peer_part(dict(peer="p 1", median_ms=0.1), 0.02))
    self.assertNotIn("python", merge.table([row]))
    self.assertIn("| 100 |", "\n".join(report.peers_table([row])))

  def test_without_the_program_there_are_no_rows(self):
    with contextlib.redirect_stdout(io.StringIO()) as said:
      self.assertEqual(backend_ops.rows("/nowhere"), [])
    self.assertIn("skipped", said.getvalue())


def found(**changes):
  tool = dict(cases=3, seconds=9, not_counted={}, failed=[])
  return dict(memcheck=tool, racecheck=dict(tool, **changes), kernels=2, clean=True)


class RunLines(unittest.TestCase):
  RESULT = dict(machine="GPU", driver="1", date="today", commit="c", ceilings=LIMITS)

  def lines(self, checks):
    return "\n".join(report.run_lines(dict(self.RESULT, checks=checks), "file.json"))

  def test_what_is_not_counted_and_what_failed_is_told(self):
    known = {"a and b: why": 2, "c and d: why": 1}
    text = self.lines(dict(seed=1, sanitizers=found(not_counted=known)))
    self.assertIn("memcheck: 3 cases of 2 kernels", text)
    self.assertIn("not counted, as why: `a and b`, `c and d`", text)
    self.assertNotIn("failed", text)
    self.assertIn("**found** in 2 processes: bad",
                  self.lines(dict(sanitizers=found(failed=["bad", "bad<int>(x)+0x10"]))))

  def test_kernels_that_a_tool_left_out_are_told(self):
    text = self.lines(dict(seed=1, sanitizers=found(left_out=["op/cuda.a"])))
    self.assertIn("racecheck: 3 cases of 1 kernels", text)
    self.assertIn("not run: `op/cuda.a`", text)

  def test_a_row_that_is_wrong_is_told(self):
    self.assertIn("**Failed**: cases of a",
                  self.lines(dict(seed=1, failed={"cases of a": 1}, sanitizers=found())))

  def test_without_sanitizers_it_says_so(self):
    self.assertIn("no compute-sanitizer", self.lines(dict(seed=1, sanitizers=None)))

  def test_losses_are_listed_and_none_is_said(self):
    self.assertEqual(report.loss_lines(merge.merged([OURS], [PEER])), ["- none"])
    (line,) = report.loss_lines(merge.merged([dict(OURS, median_ms=0.2)], [PEER]))
    self.assertIn("0.50 times as fast as other", line)


if __name__ == "__main__":
  unittest.main()
