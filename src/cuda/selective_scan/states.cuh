// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/selective_scan/place.cuh"
#include "cuda/selective_scan/shape.cuh"
#include "cuda/selective_scan/step.cuh"

namespace hiss::cuda::selective_scan {

// The states and decay rates that one thread keeps in registers: kStates of kChannels channels, of
// the kPassStates states from `pass` on.
template <class S>
struct ThreadStates {
  static constexpr int kChannels = S::kChannels, kStates = S::kStates;
  float h[kChannels][kStates];
  float A[kChannels][kStates];  // times log2(e)
  int channel, state;           // the first of each, of the block and of the pass

  __device__ ThreadStates() {
    channel = static_cast<int>(threadIdx.x / S::kLanes * kChannels);
    state = static_cast<int>(threadIdx.x % S::kLanes * kStates);
  }
  // f(its h, its A, channel of the tensors, state) for each that exists.
  template <class F>
  __device__ void each(const ScanArgs& p, const Place& place, int pass, F&& f) {
#pragma unroll
    for (int c = 0; c < kChannels; ++c)
#pragma unroll
      for (int n = 0; n < kStates; ++n) {
        const int64_t at = pass * kPassStates + state + n;
        if (channel + c < place.channels && at < p.dstate)
          f(h[c][n], A[c][n], place.first + channel + c, at);
      }
  }
  __device__ void clear() {
#pragma unroll
    for (int c = 0; c < kChannels; ++c)
#pragma unroll
      for (int n = 0; n < kStates; ++n) h[c][n] = A[c][n] = 0;
  }
  __device__ void load_rates(const ScanArgs& p, const Place& place, int pass) {
    each(p, place, pass, [&](float&, float& rate, int64_t d, int64_t n) {
      const float a = p.A[d * p.A_channel + n * p.A_state];
      rate = (p.A_is_log ? -expf(a) : a) * kLog2E;
    });
  }
  __device__ void load(const ScanArgs& p, const Place& place, int pass, const States& from,
                       int64_t row) {
    each(p, place, pass, [&](float& v, float&, int64_t d, int64_t n) {
      v = from.data[row + d * from.channel + n * from.state];
    });
  }
  __device__ void store(const ScanArgs& p, const Place& place, int pass, const States& to,
                        int64_t row) {
    each(p, place, pass, [&](float& v, float&, int64_t d, int64_t n) {
      to.data[row + d * to.channel + n * to.state] = v;
    });
  }
  // What lies beyond dstate stays zero, whatever u is: 0 * Inf would be NaN.
  __device__ void drop_beyond(int64_t dstate, int pass) {
#pragma unroll
    for (int n = 0; n < kStates; ++n)
      if (pass * kPassStates + state + n >= dstate)
#pragma unroll
        for (int c = 0; c < kChannels; ++c) h[c][n] = 0;
  }
};

// States between the segments of sequences: (nseq, segments, dim, dstate), slot `segment` the state
// after that segment had it begun at zero (the first: at the initial state). A sequence's initial
// state itself goes by way of the slot that its last segment does not need: final_state may be the
// memory of initial_state, and the last segment may end before the first begins.
__device__ __forceinline__ float& segment_state(const ScanArgs& p, const Place& place, int64_t slot,
                                                int64_t d, int64_t n) {
  return p.segment_states[((place.s * p.segments + slot) * p.dim + d) * p.dstate + n];
}
__device__ __forceinline__ float& segment_delta(const ScanArgs& p, const Place& place, int64_t slot,
                                                int64_t d) {
  return p.segment_deltas[(place.s * p.segments + slot) * p.dim + d];
}

// h before the first token of a block, for a pass.
template <class V, class S = typename V::S>
__device__ void load_first_states(const ScanArgs& p, const Place& place, int pass,
                                  ThreadStates<S>& states) {
  if constexpr (V::kRole != Role::kSegments) {
    if (place.segment == 0 && p.initial.data != nullptr)
      states.load(p, place, pass, p.initial, place.s * p.initial.row);
  }
  if constexpr (V::kRole == Role::kSegmentStates) {
    if (place.segment > 0) return;
    states.each(p, place, pass, [&](float& h, float&, int64_t d, int64_t n) {
      segment_state(p, place, p.segments - 1, d, n) = h;
    });
  }
  if constexpr (V::kRole != Role::kSegments) return;
  const int64_t begins_at = place.segment == 0 ? p.segments - 1 : 0;
  states.each(p, place, pass, [&](float& h, float&, int64_t d, int64_t n) {
    h = segment_state(p, place, begins_at, d, n);
  });
  // Several slots are asked for before any is used, without a branch a state: what lies beyond is
  // zero, and leaves h as it is.
  constexpr int kAtOnce = 4;
  const int64_t first = pass * kPassStates + states.state, slot_states = p.dim * p.dstate;
#pragma unroll
  for (int c = 0; c < S::kChannels; ++c) {
    const bool real = states.channel + c < place.channels;
    const float* own_at = &segment_state(p, place, 1, place.first + states.channel + c, first);
    const float* delta_at = &segment_delta(p, place, 1, place.first + states.channel + c);
#pragma unroll 1
    for (auto left = static_cast<int>(place.segment) - 1; left > 0; left -= kAtOnce) {
      float own[kAtOnce][S::kStates], delta[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i, own_at += slot_states, delta_at += p.dim) {
        delta[i] = real && i < left ? *delta_at : 0.0f;
#pragma unroll
        for (int n = 0; n < S::kStates; ++n)
          own[i][n] = real && i < left && first + n < p.dstate ? own_at[n] : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
        for (int n = 0; n < S::kStates; ++n)
          states.h[c][n] =
              __fmaf_rn(exp2_flushed(delta[i] * states.A[c][n]), states.h[c][n], own[i][n]);
    }
  }
}

}  // namespace hiss::cuda::selective_scan
