// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/halves_walk.cuh"
#include "cuda/ssd_chunk_scan/hopper_launch.cuh"

namespace hiss::cuda::ssd {

// Barriers, zeros above the diagonals, and the split into warps that copy and warps that compute.
template <class S, bool kOutputs, class Compute>
__device__ __forceinline__ void run_halves(const HalvesScan& k, const Place& p, Compute&& compute) {
  extern __shared__ char unaligned[];
  char* memory = unaligned + (-shared_address(unaligned) & 1023);
  auto& barriers = *reinterpret_cast<HalvesBarriers<S>*>(memory + S::kBarriers);
  const HalvesMemory<S> m{memory, shared_address(memory), barriers};
  const Chain chain = chain_of(k.base, p);
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::kOperands; ++i) {
      barriers.operand_full[i].init(1);
      barriers.operand_empty[i].init(kRowWarps);
    }
    for (int i = 0; i < S::kRowStages; ++i) {
      barriers.row_full[i].init(1 + S::kSlots);  // who copies, and who makes a head's times
      barriers.row_empty[i].init(kRowWarps + (kOutputs ? 4 : 0));
    }
    barriers.weights_full.init(4);
    barriers.weights_empty.init(kRowWarps);
    fence_barrier_init();
  }
  if (threadIdx.x == 32) {
    prefetch_map(&k.base.x);
    if constexpr (kOutputs) prefetch_map(&k.base.y);
  }
  for (int i = threadIdx.x; i < S::kWeights / 16; i += S::kThreads)
    reinterpret_cast<uint4*>(memory)[i] = {};
  fence_async_proxy();
  __syncthreads();

  const int warpgroup = threadIdx.x / 128 - 1;
  if (warpgroup < 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(S::kCopyRegisters));
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == 0) {
      if (lane == 0) copy_chunks<S, kOutputs>(k, p, chain, m);
    } else if (warp <= S::kSlots) {
      make_head_chunks<S>(k, p, chain, m, warp - 1, lane);
    }
    __syncwarp();
  } else if (kOutputs && warpgroup == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(S::kWeighRegisters));
    if constexpr (kOutputs) weigh_tokens<S>(k, p, chain, m);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(S::kRowRegisters));
    const Lane l = lane_of(k.base, p, warpgroup);
    wait_for_previous_launch();
    compute(HalvesBench<S>{k.base, p, chain, m, l, warpgroup,
                           static_cast<int64_t>(p.group) * p.heads_per_group + l.head,
                           (l.stored ? l.tile_row - l.head * k.base.headdim : 0) + l.lane / 4});
  }
}

// First pass: the blocks of all segments but the last.
template <int kN, int kHeads>
__global__ __launch_bounds__(HalvesShared<kN, kHeads, false>::kThreads,
                             1) void halves_states(const __grid_constant__ HalvesScan k) {
  using S = HalvesShared<kN, kHeads, false>;
  release_next_launch();
  run_halves<S, false>(k, place_of(k.base, blockIdx.x, k.base.segments - 1),
                       [](const HalvesBench<S>& w) {
                         float state[kN / 2];
                         walk_halves_states(w, state);
                       });
}

// Second pass, or the only one.
template <int kN, int kHeads>
__global__ __launch_bounds__(HalvesShared<kN, kHeads, true>::kThreads,
                             1) void halves_outputs(const __grid_constant__ HalvesScan k) {
  using S = HalvesShared<kN, kHeads, true>;
  release_next_launch();
  run_halves<S, true>(
      k, place_of(k.base, blockIdx.x, k.base.segments), [&k](const HalvesBench<S>& w) {
        float state[kN / 2];
        if (w.k.segments == 1)
          begin_state(w, state);
        else
          gather_state(w, state);
        walk_halves(w, k.scan, state);
        const HopperScan& base = w.k;
        if (base.final && w.p.last && w.l.stored)
          store_state(
              state,
              base.final + w.p.sequence * base.final_stride[0] + w.head * base.final_stride[1],
              base.final_stride[2], base.dstate, w.row_in_head, w.l);
      });
}

template <int kN, int kHeads>
cudaError_t launch_halves_of(const HalvesScan& scan, cudaStream_t stream) {
  using States = HalvesShared<kN, kHeads, false>;
  using Outputs = HalvesShared<kN, kHeads, true>;
  const int segments = scan.base.segments;
  const int64_t units = scan.base.units;
  if (segments > 1) {
    const cudaError_t error = launch_pass(halves_states<kN, kHeads>, scan, units * (segments - 1),
                                          States::kThreads, States::kBytes, stream);
    if (error != cudaSuccess) return error;
  }
  return launch_pass(halves_outputs<kN, kHeads>, scan, units * segments, Outputs::kThreads,
                     Outputs::kBytes, stream);
}

template <int kN>
cudaError_t launch_halves(const HalvesScan& scan, cudaStream_t stream) {
  constexpr int kBytes = ssd_chunk_scan::prepare_shared_bytes<kN, 2>();
  const auto prepare = ssd_chunk_scan::prepare<kN, 2, true>;
  const cudaError_t error =
      cudaFuncSetAttribute(prepare, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  start_overlapped(prepare, static_cast<unsigned>(scan.chunk_strips),
                   ssd_chunk_scan::kPrepareThreads, kBytes, stream, scan.scan, scan.chunks);
  if (const cudaError_t failed = cudaGetLastError(); failed != cudaSuccess) return failed;
  return scan.base.headdim % 64 == 0 ? launch_halves_of<kN, 2>(scan, stream)
                                     : launch_halves_of<kN, 3>(scan, stream);
}

}  // namespace hiss::cuda::ssd
