// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hiss/executor.h"
#include "hiss/status.h"

namespace hiss::audio {

// A stream cut into windows of `window` frames that share `overlap` frames with the next.
struct ChunkOptions {
  int channels = 1;
  int64_t window = 80000;  // C >= 1
  int64_t overlap = 4000;  // V, 0 ... C / 2
  double strength = 1.0;   // 0: the input, to the bit; 1: the windows' output; between: a mix

  // C = floor(chunk_seconds sample_rate), V = floor(overlap C). kInvalidArgument: a value out of
  // range (chunk_seconds > 0 and C >= 1; overlap 0 ... 0.5; strength 0 ... 1; channels >= 1).
  static Result<ChunkOptions> from_seconds(int sample_rate, int channels, double chunk_seconds,
                                           double overlap, double strength);
};

// Takes a stream through a function of independent windows and joins the results by overlap-add.
//
// With C, V and the stride S = C - V: as soon as C frames wait, they go through the function, and
// the first S of the sum are handed out. finish() takes the rest as one
// shorter window. So the windows, and the result to the bit, depend on a frame's place in the
// stream alone. A window of n frames is weighted with v = min(V, n - 1) frames of sin^2(pi/2 i/v)
// at its start, unless it is the first, and of cos^2 at its end, unless it is the last; the sum is
// divided by the sum of the weights.
//
// Samples that are NaN or infinite count as 0; subnormal ones reach the windows as 0. Channels that
// are equal in a window are computed once, and a window of nothing but zeros gives zeros without
// being computed. Memory: a few windows, whatever the length of the stream.
class ChunkSession {
 public:
  // samples [batch, n], changed in place: batch distinct channels, n <= C frames, all finite. What
  // it leaves behind must be finite, and an item's result must not depend on the others.
  using WindowFunction = std::function<Status(int64_t batch, int64_t n, float* samples)>;
  // Receives finished frames, interleaved; at most C a call, at least 1.
  using Sink = FunctionRef<Status(std::span<const float> interleaved)>;

  ChunkSession(const ChunkOptions& options, WindowFunction window_function);

  // Any number of whole frames. After an error or finish() the session is spent: kInvalidArgument.
  Status process(std::span<const float> interleaved, Sink sink);
  Status finish(Sink sink);
  // Frames that arrive after a frame, at most, before it is handed out.
  int64_t delay() const { return options_.window - 1; }
  int64_t replaced_samples() const { return replaced_; }

 private:
  void take(std::span<const float> interleaved);
  // Computes the first n waiting frames and hands out the first `emitted` of them.
  Status run_window(int64_t n, int64_t emitted, bool last, Sink sink);
  Status compute(int64_t n);
  Status hand_out(int64_t n, int64_t emitted, bool last, Sink sink);

  ChunkOptions options_;
  int64_t stride_;
  WindowFunction window_function_;
  bool first_ = true, spent_ = false;
  int64_t replaced_ = 0;
  std::vector<std::vector<float>> waiting_;   // [channels][frames]
  std::vector<float> distinct_;               // [batch, n]: windows with channels that differ
  std::vector<int64_t> item_;                 // [channels]: place in `distinct_`, or kSilent
  std::vector<std::vector<double>> carried_;  // [channels][V]: weighted end of the last window
  std::vector<double> carried_weight_;        // [V]
  std::vector<float> out_;                    // interleaved
};

}  // namespace hiss::audio
