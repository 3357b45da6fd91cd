# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""One peer on one case: the answer first, then the time."""
import cases

from .work import Missing

# Relative root mean square error up to which an answer counts as right.
RIGHT = {"F32": 2e-3, "BF16": 1.5e-2}  # F32: the peers' matrix products round operands to TF32


def measure(name, peer, case, clock, limits):
  """A row, or None where the peer has no such operator. A wrong answer has an error and no time."""
  row = dict(case, peer=name)
  bytes_ = cases.work(case)[0]
  try:
    work = peer.work(case, bytes_)
    if work is None:
      return None
    row["error"] = work.check()
    if work.note:
      row["note"] = work.note
    if not row["error"] <= RIGHT[case["dtype"]]:
      row["wrong"] = True
      return row
    row["python_ms"], row["python_spread"] = clock.eager(work.calls)
    row["median_ms"], row["spread"] = clock.replayed(work.calls)
    row["bound_ms"], row["bound_kind"] = cases.bound(case, limits)
  except Missing as e:
    row["missing"] = str(e)
  except (RuntimeError, ValueError, TypeError, AssertionError) as e:
    row["failed"] = " ".join(str(e).split())[:200]
  return row
