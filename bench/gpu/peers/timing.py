# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""Times of calls on the GPU, and the ceilings of the machine, with CUDA events."""

import statistics
import subprocess

import torch

MEASURE_MS = 15  # of device time for one number
SETS_BYTES = 200 << 20  # inputs rotate over more than any L2 holds
MAX_SETS = 128
MAX_EAGER = 32  # calls in a row through Python, whose cost no cache changes


def sets_of(bytes_):
  """How many input sets a call rotates over: past the L2 cache, and no more than are useful."""
  return int(max(2, min(MAX_SETS, -(-SETS_BYTES // max(1, bytes_)))))


def _elapsed(run):
  begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
  begin.record()
  run()
  end.record()
  end.synchronize()
  return begin.elapsed_time(end)


def _median(run, calls):
  run()
  once = max(_elapsed(run), 1e-3)
  count = int(max(5, min(200, MEASURE_MS / once)))
  times = sorted(_elapsed(run) / calls for _ in range(count))
  middle = statistics.median(times)
  return middle, (times[len(times) * 3 // 4] - times[len(times) // 4]) / middle


def eager(calls):
  """(median ms of one call, spread of the middle half): as Python issues them, one by one."""

  calls = calls[:MAX_EAGER]

  def run():
    for call in calls:
      call()

  return _median(run, len(calls))


def replayed(calls):
  """The same from a CUDA graph of all the calls: what the kernels need without Python."""
  stream = torch.cuda.Stream()
  stream.wait_stream(torch.cuda.current_stream())
  with torch.cuda.stream(stream):
    calls[0]()
    stream.synchronize()
    # Not torch.cuda.graph(): it collects garbage and empties the allocator first, each time.
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()
    results = [call() for call in calls]
    graph.capture_end()
  times = _median(graph.replay, len(calls))
  del results
  return times


def _max_clock_mhz():
  query = ["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits", "-i", "0"]
  return float(subprocess.run(query, check=True, capture_output=True, text=True).stdout)


def _copy_ms(elements):
  source = torch.randn(elements, device="cuda")
  target = torch.empty_like(source)
  return _median(lambda: target.copy_(source), 1)[0]


def _product_ms(size):
  a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
  return _median(lambda: torch.mm(a, b), 1)[0]


def ceilings():
  """Device copy in bytes per second (read and written), bf16 matrix products in FLOP per second,
  exponentials per second by the card's highest clock: 16 a clock of each multiprocessor."""
  clock_hz = 1e6 * _max_clock_mhz()
  multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
  return {
      "copy_bytes_per_s": 1e3 * 8 * (1 << 29) / _copy_ms(1 << 29),
      "bf16_flop_per_s": 1e3 * 2 * 8192**3 / _product_ms(8192),
      "exp_per_s": 16 * multiprocessors * clock_hz,
      "sm_clock_hz": clock_hz,
  }
