// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper.cuh"

// The producing warps: one starts the bulk copies, three turn dt into decays.
namespace hiss::cuda::ssd {

template <class S>
struct Stages {
  char *memory, *row_memory;
  uint32_t base, row_base;  // the same, as shared addresses
  TransferBarrier *full, *empty, *row_empty, *weights_full, *weights_empty;

  __device__ Scalars& scalars(int stage, int slot) const {
    return reinterpret_cast<Scalars*>(memory + stage * S::kStage + S::kScalars)[slot];
  }
};

// Positions in both rings.
template <class S>
struct Rings {
  Ring<S::kStages> stage;
  Ring<S::kRowStages> row;
  __device__ void advance() { stage.advance(), row.advance(); }
};

// How far a computing warp has come, over the segments of its block.
template <class S>
struct Progress {
  Rings<S> ring;
  Ring<S::kWeightStages> weights;
  int previous_row = -1;  // the stage whose y is on its way
};

// One thread: the tiles for each chunk of the segment.
template <class S, bool kZ, bool kOutputs>
__device__ void copy_tiles(const HopperScan& k, const Place& p, const Stages<S>& stages,
                           Rings<S>& ring) {
  const int x0 = p.group * p.heads_per_group * k.headdim + kBlockRows * p.block;
  const int row = static_cast<int>(p.row);
  for (Cutter<kOutputs> cut(k, p); !cut.done(); cut.next(k), ring.advance()) {
    TransferBarrier& full = stages.full[ring.stage.at];
    const uint32_t to = stages.base + ring.stage.at * S::kStage;
    const uint32_t rows_to = stages.row_base + ring.row.at * S::kRowStage;
    const int t = static_cast<int>(cut.t);
    const bool outputs = kOutputs && cut.t >= p.begin;
    const int tiles = 2 + S::kPanels * (outputs ? 2 : 1) + (kZ && outputs ? 2 : 0);
    stages.empty[ring.stage.at].wait(ring.stage.phase ^ 1);
    full.arrive_expecting(static_cast<uint32_t>(tiles * kTile));
    for (int i = 0; i < S::kPanels; ++i) {
      load_tile(to + i * kTile, &k.B, &full, 64 * i, p.group, t, row);
      if (outputs) load_tile(to + S::kC + i * kTile, &k.C, &full, 64 * i, p.group, t, row);
    }
    stages.row_empty[ring.row.at].wait(ring.row.phase ^ 1);
    for (int i = 0; i < 2; ++i) {
      load_tile(rows_to + i * kTile, &k.x, &full, x0 + 64 * i, t, row);
      if (kZ && outputs)
        load_tile(rows_to + S::kGate + i * kTile, &k.z, &full, x0 + 64 * i, t, row);
    }
  }
}

// log(1 + e^v) to a few 10^-6: a series where 1 + e^v would lose the digits.
__device__ __forceinline__ float softplus_short(float v) {
  const float e = exp2_flushed(v * kLog2E);
  float log2_sum;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log2_sum) : "f"(1.0f + e));
  const float small = e * (1.0f - e * (0.5f - e * (1.0f / 3)));
  return v > 20.0f ? v : e < 0.02f ? small : log2_sum * kLn2;
}

// kStraight: without a branch, so that several run side by side.
template <bool kStraight>
__device__ __forceinline__ float step_size(const HopperScan& k, float v) {
  if constexpr (kStraight) {
    const float soft = softplus_short(v);
    v = k.softplus ? soft : v;
  } else if (k.softplus) {
    v = softplus_short(v);
  }
  v = v < k.dt_min ? k.dt_min : v;
  return v > k.dt_max ? k.dt_max : v;
}

// dt of a lane's two tokens in the heads of the block, as read, and the chunk they are of.
template <class Dt, int kSlots>
struct Steps {
  int stage, length;
  uint32_t phase;
  bool whole;
  Dt raw[kSlots][2];
};

// What lane `slot` knows of that head of the block: log2 of the decay in a step of 1, dt_bias, and
// the D that weights include.
struct HeadNumbers {
  float rate, bias, skip;
};

__device__ __forceinline__ HeadNumbers read_numbers(const HopperScan& k, const Place& p, int lane) {
  const int64_t head = p.group * p.heads_per_group + p.first_head + min(lane, p.slots - 1);
  const float A = k.A[head * k.A_stride];
  return {(k.a_is_log ? -exp_accurate(A) : A) * kLog2E,
          k.dt_bias ? k.dt_bias[head * k.dt_bias_stride] : 0.0f,
          k.D && k.D_stride[1] == 0 ? k.D[head * k.D_stride[0]] : 0.0f};
}

// Steps and their sums of two heads, whose chains of operations run side by side.
struct Sums {
  float dt[2][2], s[2][2], last[2];
};

template <bool kStraight, class Dt>
__device__ __forceinline__ Sums sum_steps(const HopperScan& k, const HeadNumbers& numbers,
                                          const Dt (&raw)[2][2], int length, int lane,
                                          const int (&slot)[2]) {
  Sums sums;
  auto& [dt, s, last] = sums;
  float sum[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float rate = __shfl_sync(~0u, numbers.rate, slot[h]);
    const float bias = __shfl_sync(~0u, numbers.bias, slot[h]);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const bool there = 2 * lane + i < length;
      float step = 0.0f;
      if (kStraight || there) step = step_size<kStraight>(k, to_float(raw[h][i]) + bias);
      dt[h][i] = there ? step : 0.0f;
      // Below 2^-160 nothing is left; larger sums would lose the digits of small steps.
      const float power = there ? step * rate : 0.0f;
      s[h][i] = power < -160.0f ? -160.0f : power;
    }
    sum[h] = s[h][0] + s[h][1];
  }
#pragma unroll
  for (int step = 1; step < 32; step *= 2)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float other = __shfl_up_sync(~0u, sum[h], step);
      if (lane >= step) sum[h] += other;
    }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    last[h] = __shfl_sync(~0u, sum[h], 31);
    const float earlier = __shfl_up_sync(~0u, sum[h], 1);
    if (lane > 0) s[h][0] += earlier;
    s[h][1] = sum[h];
  }
  return sums;
}

// `whole`: also what only y needs.
template <bool kOutputs>
__device__ __forceinline__ void write_scalars(const Sums& sums, bool whole, float skip, int lane,
                                              const int (&slot)[2], Scalars* to) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    Scalars& out = to[slot[h]];
    const auto& dt = sums.dt[h];
    const auto& s = sums.s[h];
    const float end[2] = {dt[0] * exp2_flushed(sums.last[h] - s[0]),
                          dt[1] * exp2_flushed(sums.last[h] - s[1])};
    reinterpret_cast<float2*>(out.s)[lane] = {s[0], s[1]};
    if constexpr (!kOutputs) {
      reinterpret_cast<float2*>(out.dt)[lane] = {end[0], end[1]};
    } else {
      reinterpret_cast<float2*>(out.dt)[lane] = {dt[0], dt[1]};
      reinterpret_cast<float2*>(out.from_start)[lane] = {exp2_flushed(s[0]), exp2_flushed(s[1])};
      out.to_end[lane] = packed<Factor>(end[0], end[1]);
      if (!whole) continue;
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        const float anchor = __shfl_sync(~0u, s[0], 8 * (i + 1));
        out.before[i][lane] = packed<Factor>(dt[0] * exp2_flushed(anchor - s[0]),
                                             dt[1] * exp2_flushed(anchor - s[1]));
      }
      const float anchor = __shfl_sync(~0u, s[0], lane & ~7);
      const float a = exp2_flushed(s[0] - anchor), b = exp2_flushed(s[1] - anchor);
      reinterpret_cast<uint2*>(out.within)[lane] = {packed<Factor>(a, a), packed<Factor>(b, b)};
      if (lane == slot[h]) out.skip = skip;
    }
  }
}

// One of the warps that take turns at the chunks. Reads ahead, and waits for nothing that it reads:
// tokens beyond the segment repeat its last one. In a ring of two stages a third warp would be more
// than a round behind, where phases look alike. `skipped`: chunks until the warp's turn. More than
// two heads are two rounds of sums: those are made before the stage is free, and as fast as can be.
template <class Dt, class S, bool kOutputs>
__device__ void make_scalars(const HopperScan& k, const Place& p, const Stages<S>& stages,
                             int& skipped, int lane, Rings<S>& ring) {
  constexpr int kTurns = S::kStages > 2 ? 3 : 2;
  if (threadIdx.x / 32 > kTurns) return;
  const HeadNumbers numbers = read_numbers(k, p, lane);
  const Dt* from = static_cast<const Dt*>(k.dt) + p.row * k.dt_stride[0] +
                   (p.group * p.heads_per_group + p.first_head) * k.dt_stride[2];
  Cutter<kOutputs> cut(k, p);
  const auto ahead = [&] {
    Steps<Dt, S::kSlots> d{.stage = -1};
    if constexpr (S::kMixed) {
      const int passed = cut.skip(k, skipped);
      skipped -= passed, ring.stage.advance(passed);
    } else {
      for (; skipped > 0 && !cut.done(); --skipped) cut.next(k), ring.stage.advance();
    }
    if (cut.done()) return d;
    d.stage = ring.stage.at, d.phase = ring.stage.phase, d.length = cut.length;
    d.whole = !S::kMixed || cut.t >= p.begin;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const Dt* token = from + min(cut.t + 2 * lane + i, p.end - 1) * k.dt_stride[1];
#pragma unroll
      for (int slot = 0; slot < S::kSlots; ++slot)
        d.raw[slot][i] = token[min(slot, p.slots - 1) * k.dt_stride[2]];
    }
    skipped = kTurns;
    return d;
  };
  Steps<Dt, S::kSlots> next = ahead();
  while (next.stage >= 0) {
    const Steps<Dt, S::kSlots> d = next;
    next = ahead();
    if constexpr (!S::kMixed) stages.empty[d.stage].wait(d.phase ^ 1);
    constexpr int kPairs = (S::kSlots + 1) / 2;
    Sums sums[kPairs];
    int slot[kPairs][2];
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      const int first = 2 * pair, second = first + 1 < S::kSlots ? first + 1 : first;
      const Dt raw[2][2] = {{d.raw[first][0], d.raw[first][1]},
                            {d.raw[second][0], d.raw[second][1]}};
      slot[pair][0] = min(first, p.slots - 1), slot[pair][1] = min(second, p.slots - 1);
      sums[pair] = sum_steps<S::kMixed>(k, numbers, raw, d.length, lane, slot[pair]);
    }
    if constexpr (S::kMixed) stages.empty[d.stage].wait(d.phase ^ 1);
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair)
      write_scalars<kOutputs>(sums[pair], d.whole, numbers.skip, lane, slot[pair],
                              &stages.scalars(d.stage, 0));
    __syncwarp();
    if (lane == 0) stages.full[d.stage].arrive();
  }
}

}  // namespace hiss::cuda::ssd
