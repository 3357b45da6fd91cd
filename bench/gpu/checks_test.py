#!/usr/bin/env python3
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Tests of how run.py checks the kernels and of how sanitize.py judges, without a GPU."""
import argparse
import contextlib
import io
import json
import os
import pathlib
import tempfile
import time
import unittest
import unittest.mock

import run
import sanitize

CHECK = """#!/usr/bin/env python3
import json, sys
if "--rows" in sys.argv:
  sys.exit(print("op/cuda.a op/cuda.b"))
if "--cover" in sys.argv:
  with open(sys.argv[sys.argv.index("--cover") + 1], "w") as file:
    row = sys.argv[sys.argv.index("--filter") + 1]
    json.dump([dict(kernel=row, case="base", shared_memory=row.endswith("a "))], file)
print("{0}")
sys.exit(not "{0}".startswith("0"))
"""
SANITIZER = """#!/bin/sh
shift 6
"$@"
echo "========= ERROR SUMMARY: 0 errors"
"""
RACE = """========= COMPUTE-SANITIZER
=========
========= Error: Race reported between Read access at void hiss::cuda::ssd::store_weights<(int)1>(x)+0x90
=========     and Write access at void hiss::cuda::ssd::write_scalars<(bool)1>(y)+0x20 [64 hazards]
=========     and Write access at void hiss::cuda::ssd::write_scalars<(bool)1>(y)+0x80 [64 hazards]
=========
ok    ssd_chunk_scan/cuda.sm90.a   3 of 3 cases, 0 wrong; at most 1.0 % of the bound (base)
0 wrong
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = "========= COMPUTE-SANITIZER\n0 wrong\n========= ERROR SUMMARY: 0 errors\n"


class Run(unittest.TestCase):

  def test_what_fails_is_named_with_its_code_after_all_have_ended(self):
    with contextlib.redirect_stdout(io.StringIO()) as said:
      failed = run.run_beside({"bad": ["sh", "-c", "echo why; exit 3"], "good": ["echo", "fine"]})
    self.assertEqual(failed, {"bad": 3})
    self.assertIn("why", said.getvalue())
    self.assertIn("fine", said.getvalue())


  def check_all(self, answer):
    """Step 1 with a program that says `answer` of each row, and a sanitizer that finds nothing."""
    with tempfile.TemporaryDirectory() as folder:
      for name, text in (("check", CHECK.format(answer)), ("compute-sanitizer", SANITIZER)):
        program = pathlib.Path(folder, name)
        program.write_text(text)
        program.chmod(0o755)
      options = argparse.Namespace(check=pathlib.Path(folder, "check"),
                                   seed=1,
                                   parts=2,
                                   seconds=30,
                                   checks=pathlib.Path(folder, "checks.json"))
      path = f'{folder}:{os.environ["PATH"]}'
      with unittest.mock.patch.dict(os.environ, PATH=path), \
           contextlib.redirect_stdout(io.StringIO()):
        try:
          run.check_all(options, folder)
          ended = ""
        except SystemExit as e:
          ended = str(e)
      return ended, json.loads(options.checks.read_text())

  def test_step_1_checks_each_row_and_sanitizes_what_stands_for_it(self):
    ended, checks = self.check_all("0 wrong")
    self.assertEqual(ended, "")
    self.assertTrue(checks["sanitizers"]["clean"])
    self.assertEqual(checks["sanitizers"]["memcheck"]["cases"], 2)
    self.assertEqual(checks["failed"], {})

  def test_racecheck_leaves_out_kernels_without_shared_memory_by_name(self):
    _, checks = self.check_all("0 wrong")
    racecheck = checks["sanitizers"]["racecheck"]
    self.assertEqual((racecheck["cases"], racecheck["of"]), (1, 1))
    self.assertEqual(len(racecheck["left_out"]), 1)
    self.assertIn("b ", racecheck["left_out"][0])
    self.assertEqual(checks["sanitizers"]["memcheck"]["left_out"], [])

  def test_a_wrong_row_fails_step_1_after_the_sanitizers(self):
    ended, checks = self.check_all("1 wrong")
    self.assertIn("cases of op/cuda.a", ended)
    self.assertIn("cases of op/cuda.a", checks["failed"])
    self.assertIn("large shapes", checks["failed"])
    self.assertFalse(checks["sanitizers"]["clean"])


class Sanitize(unittest.TestCase):

  def test_a_clean_run_passes(self):
    self.assertEqual(sanitize.judge("memcheck", 0, CLEAN), ("", {}))

  def test_a_race_that_is_named_is_counted_with_its_reason(self):
    failure, counts = sanitize.judge("racecheck", 99, RACE)
    self.assertEqual(failure, "")
    ((entry, count),) = counts.items()
    self.assertEqual(count, 1)
    self.assertIn("mbarrier", entry.reason)

  def test_places_of_a_named_race_may_come_in_either_order(self):
    write = "Write access at void hiss::cuda::ssd::write_scalars<(bool)1>(p)+0x1"
    read = "Read access at hiss::cuda::ssd::store_weights<(int)2>(q)+0x2"
    for first, second in ((write, read), (read, write)):
      output = CLEAN.replace("0 wrong", f"========= Warning: Race reported between {first}\n"
                             f"=========     and {second} [8 hazards]\n=========\n0 wrong")
      self.assertEqual(sanitize.judge("racecheck", 0, output)[0], "")

  def test_any_other_race_fails(self):
    for name in ("store_weights", "write_scalars"):
      failure, _ = sanitize.judge("racecheck", 99, RACE.replace(name, "store_other"))
      self.assertIn("store_other", failure)

  def test_all_findings_are_told_once_by_the_names_of_their_functions(self):
    twice = RACE.replace("store_weights", "a").replace("write_scalars", "b") + RACE.replace(
        "store_weights", "c")
    self.assertEqual(
        sanitize.judge("racecheck", 99, twice)[0],
        "Error: Race reported between Read access at hiss::cuda::ssd::a and Write access at "
        "hiss::cuda::ssd::b; Error: Race reported between Read access at hiss::cuda::ssd::c and "
        "Write access at hiss::cuda::ssd::write_scalars")

  def test_one_more_place_in_a_named_race_fails(self):
    other = RACE.replace("write_scalars<(bool)1>(y)+0x80", "store_other(y)+0x80")
    self.assertIn("store_other", sanitize.judge("racecheck", 99, other)[0])

  def test_a_name_for_one_tool_is_none_for_the_other(self):
    self.assertNotEqual(sanitize.judge("memcheck", 99, RACE)[0], "")

  def test_a_bad_access_fails(self):
    bad = CLEAN.replace("0 wrong", "========= Invalid __global__ read of size 16 bytes\n0 wrong")
    self.assertIn("Invalid", sanitize.judge("memcheck", 99, bad)[0])

  def test_a_wrong_answer_or_none_fails(self):
    for text in (CLEAN.replace("0 wrong", "2 wrong"), CLEAN.replace("0 wrong\n", "")):
      self.assertIn("answer", sanitize.judge("memcheck", 0, text)[0])

  def test_a_run_that_did_not_end_fails(self):
    self.assertIn("end", sanitize.judge("memcheck", 0, CLEAN.replace("ERROR SUMMARY", ""))[0])
    self.assertIn("ended with 99", sanitize.judge("memcheck", 99, CLEAN)[0])

  def test_a_process_that_takes_too_long_is_ended_and_told(self):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
      program = pathlib.Path(folder, "compute-sanitizer")
      program.write_text("#!/bin/sh\necho begun\nsleep 30\n")
      program.chmod(0o755)
      path = f'{folder}:{os.environ["PATH"]}'
      with unittest.mock.patch.dict(os.environ, PATH=path):
        failure, _, output = sanitize.run_part("memcheck", "check", "pairs", 0.5)
    self.assertIn("not at its end", failure)
    self.assertIn("begun", output)
    self.assertLess(time.monotonic() - begin, 20)

  def test_every_pair_is_in_one_part(self):
    pairs = [{"kernel": "k", "case": str(i)} for i in range(10)]
    parts = sanitize.split(pairs, 4)
    self.assertEqual(len(parts), 4)
    self.assertCountEqual([p["case"] for part in parts for p in part], map(str, range(10)))
    self.assertEqual(len(sanitize.split(pairs, 20)), 10)

  def test_without_a_sanitizer_it_says_so(self):
    with unittest.mock.patch("shutil.which", return_value=None), \
         contextlib.redirect_stdout(io.StringIO()) as said:
      self.assertIsNone(sanitize.sanitize("check", [], sanitize.TOOLS, 2, 1))
    self.assertIn("skipped", said.getvalue())


if __name__ == "__main__":
  unittest.main()
