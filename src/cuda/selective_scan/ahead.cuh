// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/selective_scan/shape.cuh"
#include "cuda/selective_scan/states.cuh"
#include "cuda/selective_scan/step.cuh"

namespace hiss::cuda::selective_scan {

// The recurrence of a warp that is alone on its scheduler, two lanes a channel. Nobody else fills
// the clocks that it waits, so it reads and makes what the next token needs while it takes this
// one, from one tile to the next, and leaves the exchange of sums to others: the parts of the
// lanes lie beside each other, in tiles of their own, since no lane may write where others read.
template <class S, bool kReverse = false>
class Ahead {
 public:
  static_assert(S::kChannels == 1);

  // Before the first token: places of delta of its channel, and of B of its states.
  __device__ Ahead(ThreadStates<S>& states, int step_at, int rate_at) : states_(states) {
    read_next(step_at + row(0) * kStep, rate_at + row(0) * kRate), read_c(rate_at + row(0) * kRate);
#pragma unroll
    for (int n = 0; n < kStates; ++n) make_next(n);
    read_next(step_at + row(1) * kStep, rate_at + row(1) * kRate);
  }

  // The tokens of a tile. That after it lies at next_step and next_rate.
  __device__ void take_tile(int step_at, int rate_at, int part_at, int next_step, int next_rate) {
    const auto step_of = [&](int t) {
      return (t < kTokens ? step_at : next_step) + row(t % kTokens) * kStep;
    };
    const auto rate_of = [&](int t) {
      return (t < kTokens ? rate_at : next_rate) + row(t % kTokens) * kRate;
    };
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      const float part = take_token();
      read_c(rate_of(t + 1)), read_next(step_of(t + 2), rate_of(t + 2));
      *shared_at<float>(part_at + row(t) * kPart) = part;
    }
  }

 private:
  static constexpr int kStates = S::kStates, kTokens = S::kTokens;
  static constexpr int kStep = 4 * S::kStepRow, kRate = 4 * S::kRateRow, kPart = 4 * S::kPartRow;

  // Where token t of a tile lies.
  __device__ static constexpr int row(int t) { return kReverse ? kTokens - 1 - t : t; }
  __device__ void read_next(int step_at, int rate_at) {
    read(shared_at<float>(step_at), step_), read(shared_at<float>(rate_at), B_);
  }
  __device__ void read_c(int rate_at) { read(shared_at<float>(rate_at) + S::kCAt, C_); }
  __device__ void make_next(int n) {
    decay_[n] = exp2_flushed(step_[0] * states_.A[0][n]);
    drive_[n] = step_[1] * B_[n];
  }
  __device__ float take_token() {
    float part = 0;
#pragma unroll
    for (int n = 0; n < kStates; ++n) {
      float& h = states_.h[0][n];
      h = __fmaf_rn(decay_[n], h, drive_[n]);
      make_next(n);
      part = n == 0 ? C_[0] * h : __fmaf_rn(C_[n], h, part);
    }
    return part;
  }

  ThreadStates<S>& states_;
  float decay_[kStates], drive_[kStates], C_[kStates];  // of the token at hand
  float step_[2], B_[kStates];                          // of the next: delta and delta * u, B
};

}  // namespace hiss::cuda::selective_scan
