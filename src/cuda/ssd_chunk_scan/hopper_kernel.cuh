// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper_apart.cuh"

namespace hiss::cuda::ssd {

// Barriers, zeros above the diagonals, and the split into warps that copy and warps that compute,
// each of which goes through the block's segments.
template <class T, class S, bool kZ, bool kOutputs, bool kTails = false, class Compute>
__device__ __forceinline__ void run_block(const HopperScan& k, Compute&& compute) {
  extern __shared__ char unaligned[];
  char* memory = unaligned + (-shared_address(unaligned) & 1023);
  auto* barriers = reinterpret_cast<TransferBarrier*>(memory + S::kBarriers);
  char* rows = memory + S::kWeights + S::kStages * S::kStage;
  const Stages<S> stages{memory + S::kWeights,
                         rows,
                         shared_address(memory + S::kWeights),
                         shared_address(rows),
                         barriers,
                         barriers + S::kStages,
                         barriers + 2 * S::kStages,
                         barriers + 2 * S::kStages + S::kRowStages,
                         barriers + 2 * S::kStages + S::kRowStages + S::kWeightStages};
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::kStages; ++i) {
      stages.full[i].init(2);  // who copies and who makes scalars
      stages.empty[i].init(kRowWarps + (kOutputs ? 4 : 0));
    }
    for (int i = 0; i < S::kRowStages; ++i) stages.row_empty[i].init(kRowWarps);
    for (int i = 0; i < S::kWeightStages; ++i) {
      stages.weights_full[i].init(4);
      stages.weights_empty[i].init(kRowWarps);
    }
    fence_barrier_init();
  }
  if (threadIdx.x == 32) {
    prefetch_map(&k.x), prefetch_map(&k.B);
    if constexpr (kOutputs) prefetch_map(&k.C), prefetch_map(&k.y);
    if constexpr (kZ) prefetch_map(&k.z);
  }
  for (int i = threadIdx.x; i < S::kWeights / 16; i += S::kThreads)
    reinterpret_cast<uint4*>(memory)[i] = {};
  fence_async_proxy();
  __syncthreads();

  const int warpgroup = threadIdx.x / 128 - 1;
  if (warpgroup < 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(S::kCopyRegisters));
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Rings<S> ring;
    if (warp == 0) {
      if (lane == 0)
        for_each_segment<kOutputs, kTails>(
            k, [&](const Place& p) { copy_tiles<S, kZ, kOutputs>(k, p, stages, ring); });
    } else {
      int skipped = warp - 1;
      for_each_segment<kOutputs, kTails>(k, [&](const Place& p) {
        if (k.dt_is_f32)
          make_scalars<float, S, kOutputs>(k, p, stages, skipped, lane, ring);
        else
          make_scalars<T, S, kOutputs>(k, p, stages, skipped, lane, ring);
      });
    }
    __syncwarp();
  } else if (kOutputs && warpgroup == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(S::kWeighRegisters));
    if constexpr (kOutputs) {
      Progress<S> progress;
      for_each_segment<kOutputs, kTails>(k, [&](const Place& p) {
        make_weights<T>(k, p, stages, shared_address(memory), progress);
      });
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(S::kRowRegisters));
    if (kOutputs && k.segments > 1) wait_for_previous_launch();
    Progress<S> progress;
    for_each_segment<kOutputs, kTails>(k, [&](const Place& p) {
      const Lane l = lane_of(k, p, warpgroup);
      compute(Bench<S>{k, p, stages, l, warpgroup, shared_address(memory),
                       static_cast<int64_t>(p.group) * p.heads_per_group + l.head,
                       (l.stored ? l.tile_row - l.head * k.headdim : 0) + l.lane / 4},
              progress);
    });
    // What bulk stores read must last until they have.
    if (kOutputs && threadIdx.x % 128 == 0) wait_stores_read();
  }
}

// First pass: the blocks of all segments but the last, or what is before the last tails.
template <class T, int kN, int kHeads, bool kTails>
__global__ __launch_bounds__(Shared<kN, kHeads, false, false>::kThreads,
                             1) void hopper_states(const __grid_constant__ HopperScan k) {
  using S = Shared<kN, kHeads, false, false>;
  wait_for_previous_launch();
  release_next_launch();  // it copies inputs before it waits: they are complete now
  run_block<T, S, false, false, kTails>(k, [](const Bench<S>& w, Progress<S>& progress) {
    float state[kN / 2];
    walk_states<T>(w, state, progress);
  });
}

// Second pass, or the only one.
template <class T, int kN, int kHeads, bool kZ>
__global__ __launch_bounds__(Shared<kN, kHeads, kZ, true>::kThreads,
                             1) void hopper_outputs(const __grid_constant__ HopperScan k) {
  using S = Shared<kN, kHeads, kZ, true>;
  if (k.segments == 1) wait_for_previous_launch();
  release_next_launch();
  run_block<T, S, kZ, true>(k, [](const Bench<S>& w, Progress<S>& progress) {
    float state[kN / 2];
    if (w.k.segments == 1)
      begin_state(w, state);
    else
      gather_state(w, state);
    walk_rows<T, S, kZ>(w, state, progress);
    const HopperScan& k = w.k;
    if (k.final && w.p.last && w.l.stored)
      store_state(state, k.final + w.p.sequence * k.final_stride[0] + w.head * k.final_stride[1],
                  k.final_stride[2], k.dstate, w.row_in_head, w.l);
  });
}

}  // namespace hiss::cuda::ssd
