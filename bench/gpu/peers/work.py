# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""What a peer hands back for a case."""

import dataclasses
import typing


class Missing(Exception):
  """The peer is not installed; the text says how to get it."""


@dataclasses.dataclass
class Work:
  calls: list  # one callable for each input set
  check: typing.Callable[[], float]  # runs the first call; its error against float64
  note: str = ""  # where the work is not quite ours
