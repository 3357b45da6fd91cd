# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
"""Writes GGUF files (version 3) with random weights; the standard library only.

Layout: "GGUF", version, counts, metadata, tensor table, data. Numbers are little-endian, tensor
shapes fastest axis first, each tensor's data on a multiple of 32 bytes.
"""

import array
import random
import struct

ALIGNMENT = 32
F32, Q4_0, Q8_0, BF16 = 0, 2, 8, 30  # enum ggml_type
BLOCK = 32  # values that share a scale in the Q types
_U32, _F32, _BOOL, _STRING, _ARRAY = 4, 6, 7, 8, 9  # enum gguf_type


def _string(text):
  data = text.encode()
  return struct.pack("<Q", len(data)) + data


def _value(value):
  """Type and bytes: int is UINT32, float FLOAT32, list an ARRAY of its first element's type."""
  if isinstance(value, bool):
    return _BOOL, struct.pack("<?", value)
  if isinstance(value, int):
    return _U32, struct.pack("<I", value)
  if isinstance(value, float):
    return _F32, struct.pack("<f", value)
  if isinstance(value, str):
    return _STRING, _string(value)
  items = [_value(v) for v in value]
  return _ARRAY, struct.pack("<IQ", items[0][0], len(items)) + b"".join(data for _, data in items)


class Noise:
  """Uniform numbers of (-1, 1), drawn once and repeated: a period no row length divides."""

  PERIOD = 1_000_003

  def __init__(self, seed):
    self._raw = random.Random(seed).randbytes(2 * self.PERIOD)
    integers = array.array("h", self._raw)
    self._unit = array.array("f", [i / 32768 for i in integers])
    self._at = 0

  def floats(self, count, low, high):
    centre, half = (low + high) / 2, (high - low) / 2
    out = array.array("f")
    while len(out) < count:
      run = self._unit[self._at : self._at + count - len(out)]
      out.extend([centre + half * u for u in run])
      self._at = (self._at + len(run)) % self.PERIOD
    return out

  def bytes(self, count):
    start = self._at
    self._at = (self._at + count) % self.PERIOD
    return (self._raw[start:] + self._raw * (count // len(self._raw) + 1))[:count]


class Tensor:
  """shape: fastest axis first. Values are uniform in [low, high); in the Q types in +-high."""

  def __init__(self, name, shape, low, high, dtype=F32):
    self.name, self.shape, self.low, self.high, self.dtype = name, shape, low, high, dtype
    self.count = 1
    for extent in shape:
      self.count *= extent
    if dtype in (Q4_0, Q8_0) and shape[0] % BLOCK != 0:
      raise ValueError(f"{name}: rows of {shape[0]} are no whole blocks of {BLOCK}")

  def size(self):
    return {F32: 4 * self.count, BF16: 2 * self.count, Q4_0: self.count // BLOCK * 18,
            Q8_0: self.count // BLOCK * 34}[self.dtype]

  def data(self, noise):
    if self.dtype == F32:
      return noise.floats(self.count, self.low, self.high).tobytes()
    if self.dtype == BF16:  # the upper half of a float
      halves = array.array("H", noise.floats(self.count, self.low, self.high).tobytes())
      return halves[1::2].tobytes()
    integers, largest = {Q4_0: (16, 8), Q8_0: (32, 127)}[self.dtype]  # bytes a block
    scale = struct.pack("<e", self.high / largest)
    data = noise.bytes(self.count // BLOCK * integers)
    return b"".join(scale + data[i : i + integers] for i in range(0, len(data), integers))


def write(path, metadata, tensors, seed):
  """metadata: key -> bool, int, float, string or list of one of these."""
  noise = Noise(seed)
  with open(path, "wb") as file:
    file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)))
    for key, value in metadata.items():
      kind, data = _value(value)
      file.write(_string(key) + struct.pack("<I", kind) + data)
    offset = 0
    for t in tensors:
      file.write(_string(t.name) + struct.pack(f"<I{len(t.shape)}Q", len(t.shape), *t.shape))
      file.write(struct.pack("<IQ", t.dtype, offset))
      offset += -(-t.size() // ALIGNMENT) * ALIGNMENT
    file.write(b"\0" * (-file.tell() % ALIGNMENT))
    for t in tensors:
      file.write(t.data(noise))
      file.write(b"\0" * (-file.tell() % ALIGNMENT))
