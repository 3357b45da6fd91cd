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
  TransferBarrier *full, *empty, *row_empty;
};

// Positions in both rings.
template <class S>
struct Rings {
  Ring<S::kStages> stage;
  Ring<S::kRowStages> row;
  __device__ void advance() { stage.advance(), row.advance(); }
};

// One thread: the tiles of x, B, C and z for each chunk of the segment.
template <class S, bool kZ, bool kStateOnly>
__device__ void copy_tiles(const HopperScan& k, const Place& p, const Stages<S>& stages,
                           Rings<S>& ring) {
  const int x0 = p.group * p.heads_per_group * k.headdim + kBlockRows * p.block;
  const int row = static_cast<int>(p.row);
  const auto copy = [&](int64_t token) {
    TransferBarrier& full = stages.full[ring.stage.at];
    const uint32_t to = stages.base + ring.stage.at * S::kStage;
    const uint32_t rows_to = stages.row_base + ring.row.at * S::kRowStage;
    const int t = static_cast<int>(token);
    constexpr int kTiles = 2 + S::kPanels * (kStateOnly ? 1 : 2) + (kZ && !kStateOnly ? 2 : 0);
    stages.empty[ring.stage.at].wait(ring.stage.phase ^ 1);
    full.arrive_expecting(kTiles * kTile);
    if (k.share == 1) {
      for (int i = 0; i < S::kPanels; ++i) {
        load_tile(to + i * kTile, &k.B, &full, 64 * i, p.group, t, row);
        if constexpr (!kStateOnly)
          load_tile(to + S::kC + i * kTile, &k.C, &full, 64 * i, p.group, t, row);
      }
    } else {  // half of the tokens, for both
      const auto both = static_cast<uint16_t>(3 << (rank_in_cluster() & ~1u));
      const int token_here = t + kChunk / 2 * p.member;
      const uint32_t half = to + kTile / 2 * p.member;
      for (int i = 0; i < S::kPanels; ++i) {
        load_tile_for(both, half + i * kTile, &k.B, &full, 64 * i, p.group, token_here, row);
        if constexpr (!kStateOnly)
          load_tile_for(both, half + S::kC + i * kTile, &k.C, &full, 64 * i, p.group, token_here,
                        row);
      }
    }
    stages.row_empty[ring.row.at].wait(ring.row.phase ^ 1);
    for (int i = 0; i < 2; ++i) {
      load_tile(rows_to + i * kTile, &k.x, &full, x0 + 64 * i, t, row);
      if constexpr (kZ && !kStateOnly)
        load_tile(rows_to + S::kGate + i * kTile, &k.z, &full, x0 + 64 * i, t, row);
    }
    ring.advance();
  };
  if constexpr (kStateOnly)
    for (int64_t t = p.begin; t < p.end; t += kChunk) copy(t);
  else
    for (Cutter cut(k, p); !cut.done(); cut.next(k)) copy(cut.t);
}

__device__ __forceinline__ float step_size(const HopperScan& k, float v) {
  if (k.softplus) v = softplus(v);
  v = v < k.dt_min ? k.dt_min : v;
  return v > k.dt_max ? k.dt_max : v;
}

// One warp, two tokens a lane: the scalars of every third head of the block.
template <class T, class S, bool kStateOnly>
__device__ void make_scalars(const HopperScan& k, const Place& p, const Stages<S>& stages,
                             Rings<S>& ring, int first_slot, int lane) {
  const auto make = [&](int64_t t, int length) {
    stages.empty[ring.stage.at].wait(ring.stage.phase ^ 1);
    for (int slot = first_slot; slot < S::kSlots; slot += 3) {
      int head = p.first_head + slot;
      if (head >= p.heads_per_group) break;
      head += p.group * p.heads_per_group;
      const float bias = k.dt_bias ? k.dt_bias[head * k.dt_bias_stride] : 0.0f;
      float rate = k.A[head * k.A_stride];
      rate = (k.a_is_log ? -__expf(rate) : rate) * kLog2E;
      float dt[2], s[2];
      const int64_t at = p.row * k.dt_stride[0] + t * k.dt_stride[1] + head * k.dt_stride[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int token = 2 * lane + i;
        dt[i] = 0.0f;
        if (token < length) {
          const int64_t from = at + token * k.dt_stride[1];
          const float raw = k.dt_is_f32 ? static_cast<const float*>(k.dt)[from]
                                        : to_float(static_cast<const T*>(k.dt)[from]);
          dt[i] = step_size(k, raw + bias);
        }
        s[i] = token < length ? dt[i] * rate : 0.0f;
      }
      s[1] += s[0];
      float before = s[1];
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const float other = __shfl_up_sync(~0u, before, step);
        if (lane >= step) before += other;
      }
      const float last = __shfl_sync(~0u, before, 31);
      const float earlier = __shfl_up_sync(~0u, before, 1);
      if (lane > 0) s[0] += earlier;
      s[1] = before;
      auto& to =
          reinterpret_cast<Scalars*>(stages.memory + ring.stage.at * S::kStage + S::kScalars)[slot];
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        const float anchor = __shfl_sync(~0u, s[0], 8 * (i + 1));
        if (lane < 8 * (i + 1))
          reinterpret_cast<float2*>(to.before[i])[lane] = {dt[0] * exp2_flushed(anchor - s[0]),
                                                           dt[1] * exp2_flushed(anchor - s[1])};
      }
      reinterpret_cast<float2*>(to.s)[lane] = {s[0], s[1]};
      reinterpret_cast<float2*>(to.dt)[lane] = {dt[0], dt[1]};
      reinterpret_cast<float2*>(to.to_end)[lane] = {dt[0] * exp2_flushed(last - s[0]),
                                                    dt[1] * exp2_flushed(last - s[1])};
      reinterpret_cast<float2*>(to.from_start)[lane] = {exp2_flushed(s[0]), exp2_flushed(s[1])};
    }
    __syncwarp();
    if (lane == 0) stages.full[ring.stage.at].arrive();
    ring.advance();
  };
  if constexpr (kStateOnly)
    for (int64_t t = p.begin; t < p.end; t += kChunk)
      make(t, p.end - t < kChunk ? static_cast<int>(p.end - t) : kChunk);
  else
    for (Cutter cut(k, p); !cut.done(); cut.next(k)) make(cut.t, cut.length);
}

}  // namespace hiss::cuda::ssd
