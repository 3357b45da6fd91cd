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

// The tiles of B, and of C for outputs, at a chunk. Of two that share them, each loads half of the
// tokens for both.
template <class S, bool kOutputs>
__device__ __forceinline__ void copy_shared_tiles(const HopperScan& k, const Place& p, uint32_t to,
                                                  TransferBarrier& full, int token, int row) {
  const int tokens = kChunk / k.share * p.member;
  to += tokens * 128;
  const auto both = static_cast<uint16_t>(3 << (rank_in_cluster() & ~1u));
  for (int i = 0; i < S::kPanels; ++i)
    for (int which = 0; which < (kOutputs ? 2 : 1); ++which) {
      const CUtensorMap* map = which == 0 ? &k.B : &k.C;
      const uint32_t panel = to + which * S::kC + i * kTile;
      if (k.share == 1)
        load_tile(panel, map, &full, 64 * i, p.group, token, row);
      else
        load_tile_for(both, panel, map, &full, 64 * i, p.group, token + tokens, row);
    }
}

// One thread: the tiles for each chunk of the segment.
template <class S, bool kZ, bool kOutputs>
__device__ void copy_tiles(const HopperScan& k, const Place& p, const Stages<S>& stages) {
  const int x0 = p.group * p.heads_per_group * k.headdim + kBlockRows * p.block;
  const int row = static_cast<int>(p.row);
  Rings<S> ring;
  for (Cutter<kOutputs> cut(k, p); !cut.done(); cut.next(k), ring.advance()) {
    TransferBarrier& full = stages.full[ring.stage.at];
    const uint32_t to = stages.base + ring.stage.at * S::kStage;
    const uint32_t rows_to = stages.row_base + ring.row.at * S::kRowStage;
    const int t = static_cast<int>(cut.t);
    constexpr int kTiles = 2 + S::kPanels * (kOutputs ? 2 : 1) + (kZ ? 2 : 0);
    stages.empty[ring.stage.at].wait(ring.stage.phase ^ 1);
    full.arrive_expecting(kTiles * kTile);
    copy_shared_tiles<S, kOutputs>(k, p, to, full, t, row);
    stages.row_empty[ring.row.at].wait(ring.row.phase ^ 1);
    for (int i = 0; i < 2; ++i) {
      load_tile(rows_to + i * kTile, &k.x, &full, x0 + 64 * i, t, row);
      if constexpr (kZ) load_tile(rows_to + S::kGate + i * kTile, &k.z, &full, x0 + 64 * i, t, row);
    }
  }
}

__device__ __forceinline__ float step_size(const HopperScan& k, float v) {
  if (k.softplus) v = softplus(v);
  v = v < k.dt_min ? k.dt_min : v;
  return v > k.dt_max ? k.dt_max : v;
}

// dt of a lane's two tokens in one head and chunk, as read.
template <class Dt>
struct Steps {
  int stage, slot, length;
  uint32_t phase;
  Dt raw[2];
};

// Waits for nothing that it reads: tokens beyond the segment repeat its last one.
template <class Dt>
__device__ __forceinline__ void read_steps(const HopperScan& k, const Place& p, int64_t t, int lane,
                                           int slot, Dt (&raw)[2]) {
  const int64_t head = p.group * p.heads_per_group + p.first_head + slot;
  const Dt* from = static_cast<const Dt*>(k.dt) + p.row * k.dt_stride[0] + head * k.dt_stride[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) raw[i] = from[min(t + 2 * lane + i, p.end - 1) * k.dt_stride[1]];
}

template <bool kOutputs, class Dt>
__device__ __forceinline__ void write_scalars(const HopperScan& k, const Place& p,
                                              const Steps<Dt>& d, int lane, Scalars& to) {
  const int64_t head = p.group * p.heads_per_group + p.first_head + d.slot;
  const float bias = k.dt_bias ? k.dt_bias[head * k.dt_bias_stride] : 0.0f;
  const float A = k.A[head * k.A_stride];
  const float rate = (k.a_is_log ? -exp2_fast(A * kLog2E) : A) * kLog2E;
  float dt[2], s[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    dt[i] = 2 * lane + i < d.length ? step_size(k, to_float(d.raw[i]) + bias) : 0.0f;
    s[i] = 2 * lane + i < d.length ? dt[i] * rate : 0.0f;
  }
  float sum = s[0] + s[1];
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float other = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += other;
  }
  const float last = __shfl_sync(~0u, sum, 31), earlier = __shfl_up_sync(~0u, sum, 1);
  if (lane > 0) s[0] += earlier;
  s[1] = sum;
  reinterpret_cast<float2*>(to.from_start)[lane] = {exp2_flushed(s[0]), exp2_flushed(s[1])};
  to.to_end[lane] =
      packed<Factor>(dt[0] * exp2_flushed(last - s[0]), dt[1] * exp2_flushed(last - s[1]));
  if constexpr (!kOutputs) {
    if (lane == 31) to.s[kChunk - 1] = last;
    return;
  }
  reinterpret_cast<float2*>(to.s)[lane] = {s[0], s[1]};
  reinterpret_cast<float2*>(to.dt)[lane] = {dt[0], dt[1]};
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const float anchor = __shfl_sync(~0u, s[0], 8 * (i + 1));
    to.before[i][lane] =
        packed<Factor>(dt[0] * exp2_flushed(anchor - s[0]), dt[1] * exp2_flushed(anchor - s[1]));
  }
  const float anchor = __shfl_sync(~0u, s[0], lane & ~7);
  const float a = exp2_flushed(s[0] - anchor), b = exp2_flushed(s[1] - anchor);
  reinterpret_cast<uint2*>(to.within)[lane] = {packed<Factor>(a, a), packed<Factor>(b, b)};
  if (lane == 0) to.skip = k.D && k.D_stride[1] == 0 ? k.D[head * k.D_stride[0]] : 0.0f;
}

// One of the warps that take turns at the heads of the block, chunk after chunk. Reads ahead. In a
// ring of two stages a third would be more than a round behind, where phases look alike.
template <class Dt, class S, bool kOutputs>
__device__ void make_scalars(const HopperScan& k, const Place& p, const Stages<S>& stages, int turn,
                             int lane) {
  constexpr int kTurns = S::kStages > 2 ? 3 : 2;
  if (turn >= kTurns) return;
  Rings<S> ring;
  Cutter<kOutputs> cut(k, p);
  int slot = turn;
  const auto ahead = [&] {
    Steps<Dt> d{.stage = -1};
    for (; slot >= p.slots && !cut.done(); slot -= p.slots) cut.next(k), ring.advance();
    if (cut.done()) return d;
    d.stage = ring.stage.at, d.phase = ring.stage.phase;
    d.slot = slot, d.length = cut.length;
    read_steps(k, p, cut.t, lane, slot, d.raw);
    slot += kTurns;
    return d;
  };
  Steps<Dt> next = ahead();
  while (next.stage >= 0) {
    const Steps<Dt> d = next;
    next = ahead();
    stages.empty[d.stage].wait(d.phase ^ 1);
    write_scalars<kOutputs>(k, p, d, lane, stages.scalars(d.stage, d.slot));
    __syncwarp();
    if (lane == 0) stages.full[d.stage].arrive();
  }
}

}  // namespace hiss::cuda::ssd
