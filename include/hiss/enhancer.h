// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hiss/context.h"
#include "hiss/status.h"

// Speech enhancement with a RE-USE-layout model. Nothing here opens audio files.
namespace hiss {

struct EnhancerOptions {
  std::string model{};         // a .safetensors file, or a directory that holds one and config.json
  double chunk_seconds = 5.0;  // one model window; > 0
  double overlap = 0.05;       // part of a window shared with the next, 0 ... 0.5
  double strength = 1.0;       // 0: the input, to the bit; 1: the model's output; between: a mix
  Precision precision = Precision::kStandard;
  ContextOptions context{};
};

class EnhancerSession;

// A loaded model. Must outlive its sessions; one session runs at a time.
class Enhancer {
 public:
  virtual ~Enhancer() = default;
  // kNotFound, kDataLoss, kInvalidArgument (names every wrong tensor at once), kUnsupported.
  static Result<std::unique_ptr<Enhancer>> create(const EnhancerOptions& options);
  // One stream. sample_rate 4000 ... 192000 Hz, channels >= 1.
  virtual Result<std::unique_ptr<EnhancerSession>> start(int sample_rate, int channels) = 0;
  // What is loaded, in one line: file, parameters, blocks.
  virtual std::string describe() const = 0;
  // The kernel each operator runs with, "selective_scan/cpu.avx512.lanes_over_dim" ...
  virtual std::vector<std::string> kernels() const = 0;
};

// Samples in, as many samples out. The result does not depend, to the bit, on how the caller cuts
// the stream into blocks. Channels are enhanced independently of one another; equal ones once. NaN
// and Inf count as 0 and are counted; the output is always finite.
class EnhancerSession {
 public:
  // Receives finished frames (interleaved, [frames, channels], at most one window a call). An error
  // it returns stops process() or finish() and is passed on.
  using Sink = FunctionRef<Status(std::span<const float> interleaved)>;

  virtual ~EnhancerSession() = default;
  // Takes any number of frames, interleaved. Memory does not grow with the stream's length.
  virtual Status process(std::span<const float> interleaved, Sink sink) = 0;
  // Gives out the rest. Frames out in all = frames in. Afterwards the session is spent.
  virtual Status finish(Sink sink) = 0;
  // Frames between an input frame and the call that emits it, at most.
  virtual int64_t delay() const = 0;
  // Input samples so far that were NaN or Inf.
  virtual int64_t replaced_samples() const = 0;
};

}  // namespace hiss
