// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/halves_consumer.cuh"

namespace hiss::cuda::ssd {

// The new state from the weighed rows, whose units are taken out.
template <class S, int n>
__device__ __forceinline__ void advance_state(float (&state)[n], const ScaledRows& x,
                                              const HeadChunk& own, float gain, float (&sum)[32],
                                              uint32_t (&high)[4][4], uint32_t (&low)[4][4],
                                              uint32_t operand) {
  float other[32];
  if constexpr (S::kPanels == 2) {
    start_sum<S>(other, high, low, operand, 1);
    wgmma_wait<1>();
    pin(sum);
    take_sum(state, sum, 0, own.decay, gain);
    wgmma_wait<0>();
    pin(other);
    take_sum(state, other, 1, own.decay, gain);
  } else {
    wgmma_wait<0>();
    pin(sum);
    take_sum(state, sum, 0, own.decay, gain);
  }
  pin(high);
  pin(low);
  if (x.faults) [[unlikely]]
    spoil(state, x);
}

// What the sums of a chunk are to be multiplied by.
__device__ __forceinline__ float gain_of(const HeadChunk& own, int exponent) {
  return own.growth * power_of_two(-exponent);
}

// The first pass over a segment that others follow: only its state, for them. The initial state
// is handed on apart, because the second pass may overwrite it.
template <class S, int n>
__device__ void walk_halves_states(const HalvesBench<S>& w, float (&state)[n]) {
  if (w.k.initial && w.p.rank == 0) {
    begin_state(w, state);
    hand_on(w, 0, state, 0.0f);
  }
#pragma unroll
  for (int i = 0; i < n; ++i) state[i] = 0;
  double total = 0;
  Ring<S::kOperands> operand;
  Ring<S::kRowStages> row;
  for (int chunk = 0; chunk < w.chain.count; ++chunk, operand.advance(), row.advance()) {
    const char* const tile = w.m.row_memory(row.at) + w.warpgroup * 2 * kTile;
    const HeadChunk& own = w.m.head_chunk(row.at, w.l.slot);
    w.m.barriers.row_full[row.at].wait(row.phase);
    ScaledRows x{};
    x.read(tile, own, w.chain.length(chunk), w.l);
    uint32_t high[4][4], low[4][4];
    x.template split_to<true>(high, low, power_of_two(x.exponent), own, w.l);
    w.m.barriers.operand_full[operand.at].wait(operand.phase);
    float sum[32];
    start_sum<S>(sum, high, low, w.m.operand(operand.at), 0);
    advance_state<S>(state, x, own, gain_of(own, x.exponent + w.m.exponents(row.at)[4]), sum, high,
                     low, w.m.operand(operand.at));
    total += own.times.sum_at(kChunk - 1);
    if (w.l.lane == 0) {
      w.m.barriers.operand_empty[operand.at].arrive();
      w.m.barriers.row_empty[row.at].arrive();
    }
  }
  hand_on(w, w.p.rank + 1, state, ssd_chunk_scan::exp2_exact(total));
}

// y out of its units, with D x and the gate, in place of x. `unit`: exponent of y besides C's.
template <class S>
__device__ __forceinline__ void finish_y(const HalvesBench<S>& w, const ssd_chunk_scan::Scan& scan,
                                         float (&y)[32], char* tile, const HeadChunk& own,
                                         const ScaledRows& x, const int* exponents, int unit,
                                         const float (&skip)[2], int chunk) {
  if (!own.times.decays) [[unlikely]]
#pragma unroll
    for (int i = 0; i < 32; ++i) y[i] *= own.times.growth(ScaledRows::token(i / 8, i % 8, w.l));
  if (x.faults) [[unlikely]]
#pragma unroll
    for (int i = 0; i < 32; ++i)
      if (ScaledRows::token(i / 8, i % 8, w.l) >= x.first[i / 2 % 2]) y[i] = NAN;
  const auto place = [&](int i) -> float& {
    return *reinterpret_cast<float*>(
        tile + row_offset(ScaledRows::token(i / 8, i % 8, w.l), ScaledRows::row(i % 8, w.l)));
  };
#pragma unroll
  for (int i = 0; i < 32; ++i)
    y[i] = fmaf(skip[i / 2 % 2], place(i), y[i] * power_of_two(-(exponents[i / 8] + unit)));
  if (scan.z.data != nullptr && w.l.stored) [[unlikely]] {
    const float* z = static_cast<const float*>(scan.z.data) + w.p.row * scan.z.stride[0] +
                     (w.chain.begin + int64_t{chunk} * kChunk) * scan.z.stride[1] +
                     w.head * scan.z.stride[2] + w.row_in_head;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const int t = ScaledRows::token(i / 8, i % 8, w.l);
      if (t < w.chain.length(chunk)) y[i] *= silu(z[t * scan.z.stride[1] + i / 2 % 2 * 8]);
    }
  }
#pragma unroll
  for (int i = 0; i < 32; ++i) place(i) = y[i];
}

// y of one chunk to memory, from the place of its x.
template <class S>
__device__ __forceinline__ void store_y(const HalvesBench<S>& w, uint32_t tile, const char* memory,
                                        int chunk) {
  const HopperScan& k = w.k;
  const int rows = w.p.heads_per_group * k.headdim, row0 = w.p.group * rows + 64 * w.l.tile;
  const int thread = threadIdx.x % 128, length = w.chain.length(chunk);
  const int64_t t = w.chain.begin + int64_t{chunk} * kChunk;
  if (length == kChunk && 64 * w.l.tile + 64 <= rows) [[likely]] {
    if (thread == 0)
      for (int i = 0; i < 2; ++i)
        store_tile(&k.y, tile + i * kTile, row0 + 32 * i, static_cast<int>(t),
                   static_cast<int>(w.p.row));
    return;
  }
  float* y = static_cast<float*>(k.y_data) + w.p.row * k.y_stride[0] + row0;
#pragma unroll 1
  for (int i = thread; i < 16 * length; i += 128) {
    const int row = i % 16 * 4;
    if (64 * w.l.tile + row >= rows) continue;
    *reinterpret_cast<float4*>(y + (t + i / 16) * k.y_stride[1] + row) =
        *reinterpret_cast<const float4*>(memory + row_offset(i / 16, row));
  }
}

// The whole of a segment, from the state before it.
template <class S, int n>
__device__ void walk_halves(const HalvesBench<S>& w, const ssd_chunk_scan::Scan& scan,
                            float (&state)[n]) {
  constexpr int kShift = ssd_chunk_scan::kScoreShift<64 * S::kPanels>;
  float skip[2];
  for (int i = 0; i < 2; ++i)
    skip[i] = w.l.stored
                  ? ssd_chunk_scan::skip_of(scan, static_cast<int>(w.head), w.row_in_head + 8 * i)
                  : 0.0f;
  Ring<S::kOperands> operand;
  Ring<S::kRowStages> row;
  int previous_row = -1;
  for (int chunk = 0; chunk < w.chain.count; ++chunk, row.advance()) {
    auto& barriers = w.m.barriers;
    char* const tile = w.m.row_memory(row.at) + w.warpgroup * 2 * kTile;
    const HeadChunk& own = w.m.head_chunk(row.at, w.l.slot);
    const int* exponents = w.m.exponents(row.at);
    float y[32];
    int state_exponent;
    barriers.operand_full[operand.at].wait(operand.phase);
    {
      uint32_t high[4 * S::kPanels][4], low[4 * S::kPanels][4];
      state_exponent = start_y<S>(y, high, low, state, w.m.operand(operand.at));
      wgmma_wait<0>();
      pin(y);
      pin(high);
      pin(low);
    }
    if (w.l.lane == 0) barriers.operand_empty[operand.at].arrive();
    operand.advance();

    barriers.row_full[row.at].wait(row.phase);
    ScaledRows x{};
    x.read(tile, own, w.chain.length(chunk), w.l);
    // What the state gives is brought to the unit of what the tokens give; x gives way where that
    // would overflow.
    x.exponent = min(x.exponent, state_exponent - exponents[4] + kShift + 40);
    const int unit = exponents[4] + x.exponent - kShift;
    const float from_state = power_of_two(unit - state_exponent);
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
      const float2 left =
          *reinterpret_cast<const float2*>(&own.from_start[ScaledRows::token(i / 8, i % 8, w.l)]);
      y[i] *= left.x * from_state, y[i + 1] *= left.y * from_state;
    }
    uint32_t high[4][4], low[4][4];
    x.template split_to<false>(high, low, power_of_two(x.exponent), own, w.l);
    barriers.weights_full.wait(chunk & 1);
    const uint32_t weights = w.m.base + w.l.slot * 2 * kTile;
    if constexpr (S::kMixed) {
      add_halves_by_warp(y, high, low, weights, w.l);
    } else {
      add_halves(y, high, low, weights);
      wgmma_wait<0>();
      pin(y);
      pin(high);
      pin(low);
    }
    if (w.l.lane == 0) {
      barriers.weights_empty.arrive();
      if (previous_row >= 0) {
        if (w.l.warp == 0) wait_stores_read();
        barriers.row_empty[previous_row].arrive();
      }
    }
    previous_row = row.at;

    x.template split_to<true>(high, low, power_of_two(x.exponent), own, w.l);
    barriers.operand_full[operand.at].wait(operand.phase);
    float sum[32];
    start_sum<S>(sum, high, low, w.m.operand(operand.at), 0);
    finish_y(w, scan, y, tile, own, x, exponents, unit, skip, chunk);
    fence_async_proxy();
    named_barrier(1 + w.warpgroup, 128);
    store_y(w, w.m.row_stage(row.at) + w.warpgroup * 2 * kTile, tile, chunk);
    advance_state<S>(state, x, own, gain_of(own, x.exponent + exponents[4]), sum, high, low,
                     w.m.operand(operand.at));
    if (w.l.lane == 0) barriers.operand_empty[operand.at].arrive();
    operand.advance();
  }
  if (w.l.warp == 0 && w.l.lane == 0) wait_stores_read();
}

}  // namespace hiss::cuda::ssd
