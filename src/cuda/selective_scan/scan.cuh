// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/selective_scan/elements.cuh"
#include "cuda/selective_scan/rates.cuh"
#include "cuda/selective_scan/states.cuh"

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
                                  int pass, int half, int rate_half,
                                  ThreadStates<typename V::S> states, Checkpoints& checkpoints) {
  using S = typename V::S;
  const float* step = shared_at<float>(half * S::kStepBytes + 4 * S::step_at(states.channel));
  const float* rate =
      shared_at<float>(2 * S::kStepBytes + rate_half * S::kRateBytes + 4 * states.state);
#pragma unroll 1
  for (int t = 0; t < left; ++t, step += S::kStepRow, rate += S::kRateRow) {
#pragma unroll
    for (int c = 0; c < S::kChannels; ++c)
#pragma unroll
      for (int n = 0; n < S::kStates; ++n)
        states.h[c][n] = __fmaf_rn(exp2_flushed(step[c] * states.A[c][n]), states.h[c][n],
                                   step[c + S::kStepGap] * rate[n]);
    while (checkpoints.within(p, place, first + t, 1))
      states.store(p, place, pass, p.checkpoints,
                   place.row * p.checkpoints.row + checkpoints.next++ * p.checkpoints.checkpoint);
    if (!checkpoints.within(p, place, first + t + 1, left - t - 1)) return;
  }
}

// Tokens of a tile with the states in registers: sums = sum_n C h.
template <class V>
__device__ __forceinline__ void scan_tile(const ScanArgs& p, int pass, int step_at, int rate_at,
                                          int sum_at, ThreadStates<typename V::S>& states,
                                          float (&delta_sum)[V::S::kChannels]) {
  using S = typename V::S;
  constexpr int kLanes = S::kLanes, kChannels = S::kChannels, kStates = S::kStates;
  constexpr int kSumRow = S::sum_row(V::kAccess);
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const float *step = shared_at<float>(step_at), *rate = shared_at<float>(rate_at);
  float* sum = shared_at<float>(sum_at);
#pragma unroll S::kTurns
  for (int t = 0; t < S::kTokens; t += S::kBatch) {
    float part[kLanes];
#pragma unroll
    for (int j = 0; j < S::kBatch; ++j, step += S::kStepRow, rate += S::kRateRow) {
      float delta[kChannels], delta_u[kChannels], B[kStates], C[kStates];
      if constexpr (kChannels >= 4) {
        read(step, delta), read(step + S::kStepGap, delta_u);
      } else {
        float both[2 * kChannels];
        read(step, both);
#pragma unroll
        for (int c = 0; c < kChannels; ++c) delta[c] = both[c], delta_u[c] = both[c + kChannels];
      }
      read(rate, B);
      if constexpr (V::kOutput) read(rate + kPassStates, C);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
#pragma unroll
        for (int n = 0; n < kStates; ++n) {
          const float decay = exp2_flushed(delta[c] * states.A[c][n]);
          states.h[c][n] = __fmaf_rn(decay, states.h[c][n], delta_u[c] * B[n]);
        }
        if constexpr (!V::kWhole) states.drop_beyond(p.dstate, pass);
        if constexpr (V::kOutput) {
          float total = C[0] * states.h[c][0];
#pragma unroll
          for (int n = 1; n < kStates; ++n) total = __fmaf_rn(C[n], states.h[c][n], total);
          part[j * kChannels + c] = total;
        } else {
          delta_sum[c] += delta[c];
        }
      }
    }
    if constexpr (V::kOutput) {
      float total = scatter_sums<kLanes>(part, lane);
      if (!V::kWhole && pass > 0) total += *sum;
      *sum = total;
      sum += S::kBatch * kSumRow;
    }
  }
}

// Tile k is scanned while tiles k + 1 and k + 2 are on their way; one barrier a tile (and pass).
template <class V>
__global__ void __launch_bounds__(V::S::kThreads, V::S::kBlocks)
    scan(const __grid_constant__ ScanArgs p) {
  using S = typename V::S;
  using T = typename V::T;
  constexpr int kTokens = S::kTokens, kThreads = S::kThreads;
  const int tid = static_cast<int>(threadIdx.x);
  float* const constants = shared_at<float>(S::constants_at(V::kAccess));
  const Place place(p, blockIdx.x, p.segments - (V::kOutput ? 0 : 1), S::kBlockChannels);

  for (int i = tid; i < 2 * S::kBlockChannels; i += kThreads) {
    const int c = i % S::kBlockChannels;
    const bool is_d = i >= S::kBlockChannels;
    const float* from = is_d ? p.D : p.dt_bias;
    const bool real = c < place.channels && from != nullptr;
    constants[i] = real ? from[(place.first + c) * (is_d ? p.D_channel : p.bias_channel)] : 0.0f;
  }
  Elements<T, S, V::kAccess, V::kOutput> elements(p, place);
  Rates<T, S, V::kAccess, V::kAccess == Access::kAlongChannels && V::kWhole> rates(p, place);

  const int passes =
      V::kWhole ? 1 : static_cast<int>(max((p.dstate + kPassStates - 1) / kPassStates, int64_t{1}));
  const bool carried = !V::kWhole && passes > 1;  // states leave the registers between passes
  ThreadStates<S> states;
  const int lane = tid % S::kLanes;
  const int step_at = kept(4 * S::step_at(states.channel));
  const int rate_at = kept(2 * S::kStepBytes + 4 * states.state);
  const int sum_at = kept(S::kSumsAt + 4 * (lane / S::kChannels * S::sum_row(V::kAccess) +
                                            states.channel + lane % S::kChannels));
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
  for (int pass = 0; pass < passes; ++pass) {
    states.clear();
    states.load_rates(p, place, pass);
    load_first_states<V>(p, place, pass, states);
    if (carried) carry(pass, true);
  }
  Checkpoints checkpoints(p, place);

  // Tokens of a tile from `token` on that exist; not positive beyond the last.
  const auto left_from = [&](int token) { return min(place.length - token, kTokens); };
  int left = left_from(0), next_left = left_from(kTokens);
  // Copies are sent two items ahead, an item being a pass over a tile; the elements with the first.
  int sent_pass = 0;
  const auto send_rates = [&](int stage, int its_left) {
    rates.send(stage, sent_pass, its_left);
    if (++sent_pass == passes) sent_pass = 0, rates.next_tile();
    copies_sent();
  };
  if (left > 0) {
    elements.send(0, left), send_rates(0, left);
    elements.send(1, next_left), send_rates(1, passes > 1 ? left : next_left);
    __syncthreads();  // the constants
    copies_wait<1>();
    elements.take_steps(0, left, 0), rates.take(0, 0);
    __syncthreads();
  }
  int stage = 0, half = 0, item = 0;  // of the buffers: those of the tile and of the pass at hand
  for (int token = 0; left > 0; token += kTokens) {
    const int after_left = left_from(token + 2 * kTokens);
    const Checkpoints before = checkpoints;
    const bool checked =
        V::kRole == Role::kSequences && checkpoints.within(p, place, token, kTokens);
    for (int pass = 0; pass < passes; ++pass, item = (item + 1) & (kStages - 1)) {
      const bool last = pass == passes - 1;
      if (pass == 0) elements.send((stage + 2) & (kStages - 1), after_left);
      send_rates((item + 2) & (kStages - 1), !carried            ? after_left
                                             : pass + 2 < passes ? left
                                                                 : next_left);
      if (carried) {
        states.clear();
        states.load_rates(p, place, pass), carry(pass, false);
      }
      if (checked) {
        checkpoints = before;
        store_checkpoints<V>(p, place, token, left, pass, half, item & 1, states, checkpoints);
      }
      scan_tile<V>(p, pass, step_at + half * S::kStepBytes, rate_at + (item & 1) * S::kRateBytes,
                   sum_at + half * S::sum_bytes(V::kAccess), states, delta_sum);
      if (carried) carry(pass, true);
      copies_wait<1>();
      if (!last || next_left > 0) rates.take((item + 1) & (kStages - 1), (item + 1) & 1);
      if (!last) __syncthreads();
    }
    if (next_left > 0) elements.take_steps((stage + 1) & (kStages - 1), next_left, half ^ 1);
    __syncthreads();
    if constexpr (V::kOutput) elements.store_output(stage, left, half);
    left = next_left, next_left = after_left;
    stage = (stage + 1) & (kStages - 1), half ^= 1;
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
