// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/selective_scan/elements.cuh"
#include "cuda/selective_scan/rates.cuh"
#include "cuda/selective_scan/states.cuh"
#include "cuda/tile/overlap.cuh"

// The Mamba-1 scan on one block of threads: docs/kernels/selective_scan_cuda.md.
namespace hiss::cuda::selective_scan {

// Which tokens have checkpoints, in the order in which tokens are consumed.
struct Checkpoints {
  int64_t next;

  __device__ static int64_t token(const ScanArgs& p, int64_t k) {
    return p.checkpoint_tokens[k * p.checkpoint_stride];
  }
  // The first of this sequence: those of earlier ones lie before it.
  __device__ Checkpoints(const ScanArgs& p, const Place& place) : next(0) {
    for (int64_t high = p.ncheckpoints; next < high;) {
      const int64_t middle = next + (high - next) / 2;
      if (token(p, middle) < place.sequence_begin)
        next = middle + 1;
      else
        high = middle;
    }
  }
  __device__ bool within(const ScanArgs& p, const Place& place, int from, int tokens) const {
    if (next >= p.ncheckpoints) return false;
    const int64_t at = (token(p, next) - place.begin) * place.forward - from;
    return at >= 0 && at < tokens;
  }
};

// The states of the checkpoints within a tile, by going through its tokens once before the scan
// does: rare, and the scan stays free of it.
template <class V>
__device__ void store_checkpoints(const ScanArgs& p, const Place& place, int first, int left,
                                  int pass, int step_at, int rate_at,
                                  ThreadStates<typename V::S> states, Checkpoints& checkpoints) {
  using S = typename V::S;
  const float *step = shared_at<float>(step_at), *rate = shared_at<float>(rate_at);
#pragma unroll 1
  for (int t = 0; t < left; ++t, step += S::kStepRow, rate += S::kRateRow) {
#pragma unroll
    for (int c = 0; c < S::kChannels; ++c)
#pragma unroll
      for (int n = 0; n < S::kStates; ++n)
        states.h[c][n] = __fmaf_rn(exp2_flushed(step[c] * states.A[c][n]), states.h[c][n],
                                   step[c + S::kChannels] * rate[n]);
    while (checkpoints.within(p, place, first + t, 1))
      states.store(p, place, pass, p.checkpoints,
                   place.row * p.checkpoints.row + checkpoints.next++ * p.checkpoints.checkpoint);
    if (!checkpoints.within(p, place, first + t + 1, left - t - 1)) return;
  }
}

// What the recurrence needs of S::kBatch tokens, apart from the state: h' = decay h + drive.
template <class S>
struct Drive {
  float decay[S::kBatch][S::kChannels][S::kStates], drive[S::kBatch][S::kChannels][S::kStates];

  __device__ __forceinline__ void make(const float* step, const float* rate,
                                       const ThreadStates<S>& states,
                                       float (&delta_sum)[S::kChannels]) {
#pragma unroll
    for (int j = 0; j < S::kBatch; ++j, step += S::kStepRow, rate += S::kRateRow) {
      float both[2 * S::kChannels], B[S::kStates];
      read(step, both), read(rate, B);
#pragma unroll
      for (int c = 0; c < S::kChannels; ++c) {
        delta_sum[c] += both[c];
#pragma unroll
        for (int n = 0; n < S::kStates; ++n) {
          decay[j][c][n] = exp2_flushed(both[c] * states.A[c][n]);
          drive[j][c][n] = both[c + S::kChannels] * B[n];
        }
      }
    }
  }
};

// Tokens of a tile with the states in registers: sums = sum_n C h.
template <class V>
__device__ __forceinline__ void scan_tile(const ScanArgs& p, int pass, int step_at, int rate_at,
                                          int sum_at, ThreadStates<typename V::S>& states,
                                          float (&delta_sum)[V::S::kChannels]) {
  using S = typename V::S;
  constexpr int kLanes = S::kLanes, kChannels = S::kChannels, kStates = S::kStates;
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const float *step = shared_at<float>(step_at), *rate = shared_at<float>(rate_at);
  float* sum = shared_at<float>(sum_at);
  Drive<S> now;
  if (S::kAhead) now.make(step, rate, states, delta_sum);
#pragma unroll
  for (int t = 0; t < S::kTokens; t += S::kBatch) {
    Drive<S> next;
    if (!S::kAhead)
      now.make(step + t * S::kStepRow, rate + t * S::kRateRow, states, delta_sum);
    else if (t + S::kBatch < S::kTokens)
      next.make(step + (t + S::kBatch) * S::kStepRow, rate + (t + S::kBatch) * S::kRateRow, states,
                delta_sum);
    float part[kLanes];
#pragma unroll
    for (int j = 0; j < S::kBatch; ++j) {
      float C[kStates];
      if constexpr (V::kOutput) read(rate + (t + j) * S::kRateRow + kPassStates, C);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
#pragma unroll
        for (int n = 0; n < kStates; ++n)
          states.h[c][n] = __fmaf_rn(now.decay[j][c][n], states.h[c][n], now.drive[j][c][n]);
        if constexpr (!V::kWhole) states.drop_beyond(p.dstate, pass);
        if constexpr (V::kOutput) {
          float total = C[0] * states.h[c][0];
#pragma unroll
          for (int n = 1; n < kStates; ++n) total = __fmaf_rn(C[n], states.h[c][n], total);
          part[j * kChannels + c] = total;
        }
      }
    }
    if constexpr (V::kOutput) {
      float total = scatter_sums<kLanes>(part, lane);
      float* to = sum + t * S::kStepRow;
      __syncwarp();  // lanes of a channel have read what lay here
      if (!V::kWhole && pass > 0) total += *to;
      *to = total;
    }
    if (S::kAhead) now = next;
  }
}

template <class V>
using ElementsOf = Elements<typename V::T, typename V::S, V::kAccess, V::kWhole, V::kOutput>;
template <class V>
using RatesOf = Rates<typename V::T, typename V::S, V::kWhole,
                      V::kAccess == Access::kAlongChannels && V::kWhole>;

// While a tile is scanned the next ones are on their way.
template <class V>
__global__ void __launch_bounds__(V::S::kThreads, V::S::kBlocks)
    scan(const __grid_constant__ ScanArgs p) {
  using S = typename V::S;
  using T = typename V::T;
  constexpr int kTokens = S::kTokens, kThreads = S::kThreads, kStages = S::kStages;
  const int tid = static_cast<int>(threadIdx.x);
  float* const constants = shared_at<float>(S::constants_at(V::kWhole, sizeof(T)));
  const Place place(p, blockIdx.x, p.segments - (V::kOutput ? 0 : 1), S::kBlockChannels);

  for (int i = tid; i < 2 * S::kBlockChannels; i += kThreads) {
    const int c = i % S::kBlockChannels;
    const bool is_d = i >= S::kBlockChannels;
    const float* from = is_d ? p.D : p.dt_bias;
    const bool real = c < place.channels && from != nullptr;
    constants[i] = real ? from[(place.first + c) * (is_d ? p.D_channel : p.bias_channel)] : 0.0f;
  }
  ElementsOf<V> elements(p, place, tid);
  RatesOf<V> rates(p, place, tid);

  const int passes =
      V::kWhole ? 1 : static_cast<int>(max((p.dstate + kPassStates - 1) / kPassStates, int64_t{1}));
  const bool carried = !V::kWhole && passes > 1;  // states leave the registers between passes
  ThreadStates<S> states;
  const int lane = tid % S::kLanes;
  const int step_at = kept(4 * S::step_at(states.channel));
  const int sum_at =
      kept(S::sums_at(V::kWhole) + 4 * (lane / S::kChannels * S::kStepRow +
                                        S::step_at(states.channel + lane % S::kChannels)));
  float delta_sum[S::kChannels] = {};
  // Between passes: (blocks, passes, channels, states, threads).
  const auto carry = [&](int pass, bool store) {
    float* at = p.carried +
                (int64_t{blockIdx.x} * passes + pass) * S::kChannels * S::kStates * kThreads + tid;
#pragma unroll
    for (int c = 0; c < S::kChannels; ++c)
#pragma unroll
      for (int n = 0; n < S::kStates; ++n, at += kThreads)
        if (store)
          *at = states.h[c][n];
        else
          states.h[c][n] = *at;
  };
  // Tokens of a tile from `token` on that exist; not positive beyond the last.
  const auto left_from = [&](int token) { return min(place.length - token, kTokens); };
  // Copies are sent kStages items ahead, an item being a pass over a tile; the elements with the
  // last pass of the tile whose place they take.
  int sent_pass = 0, sent_token = 0;
  const auto send_rates = [&](int stage) {
    rates.send(stage, sent_pass, left_from(sent_token));
    if (++sent_pass == passes) sent_pass = 0, sent_token += kTokens, rates.next_tile();
    copies_sent();
  };
  if (place.length > 0) {
#pragma unroll
    for (int i = 0; i < kStages; ++i) elements.send(i, left_from(i * kTokens)), send_rates(i);
  }
  if constexpr (V::kRole == Role::kSegmentStates) let_next_kernel_start();
  if constexpr (V::kRole == Role::kSegments) wait_for_kernels_before();
  for (int pass = 0; pass < passes; ++pass) {
    states.clear();
    states.load_rates(p, place, pass);
    load_first_states<V>(p, place, pass, states);
    if (carried) carry(pass, true);
  }
  Checkpoints checkpoints(p, place);
  S::barrier();  // the constants
  const auto after = [](int stage) { return stage + 1 == kStages ? 0 : stage + 1; };
  int stage = 0, item = 0;  // of the buffers: those of the tile and of the pass at hand
  for (int token = 0; token < place.length; token += kTokens, stage = after(stage)) {
    const int left = left_from(token);
    const Checkpoints before = checkpoints;
    const bool checked =
        V::kRole == Role::kSequences && checkpoints.within(p, place, token, kTokens);
    for (int pass = 0; pass < passes; ++pass, item = after(item)) {
      copies_wait<kStages - 1>();
      if (pass == 0) elements.take_steps(stage, left);
      rates.take(item);
      S::barrier();
      const int rate_at = rates.place(item) + 4 * states.state;
      if (carried) {
        states.clear();
        states.load_rates(p, place, pass), carry(pass, false);
      }
      if (checked) {
        checkpoints = before;
        store_checkpoints<V>(p, place, token, left, pass, step_at, rate_at, states, checkpoints);
      }
      scan_tile<V>(p, pass, step_at, rate_at, sum_at, states, delta_sum);
      if (carried) carry(pass, true);
      S::barrier();
      if (pass < passes - 1) send_rates(item);
    }
    if constexpr (V::kOutput) elements.store_output(stage, left);
    elements.send(stage, left_from(token + kStages * kTokens));
    send_rates(item == 0 ? kStages - 1 : item - 1);
  }

  if constexpr (!V::kOutput) {
    states.each(p, place, 0, [&](float& h, float&, int64_t d, int64_t n) {
      segment_state(p, place, place.segment, d, n) = h;
    });
#pragma unroll
    for (int c = 0; c < S::kChannels; ++c)
      if (states.state == 0 && states.channel + c < place.channels)
        segment_delta(p, place, place.segment, place.first + states.channel + c) = delta_sum[c];
  } else if (p.final.data != nullptr &&
             (V::kRole == Role::kSequences || place.segment == p.segments - 1)) {
    for (int pass = 0; pass < passes; ++pass) {
      if (carried) carry(pass, false);
      states.store(p, place, pass, p.final, place.s * p.final.row);
    }
  }
}

}  // namespace hiss::cuda::selective_scan
