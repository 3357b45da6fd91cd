// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/bf16_state_walk.cuh"
#include "cuda/ssd_chunk_scan/hopper_launch.cuh"

namespace hiss::cuda::ssd {

// First pass: the blocks of all segments but the last.
template <class T, int kN, int kHeads>
__global__ __launch_bounds__(Bf16StateShared<kN, kHeads, false, false>::kThreads,
                             1) void bf16_states(const __grid_constant__ Bf16StateScan k) {
  using S = Bf16StateShared<kN, kHeads, false, false>;
  wait_for_previous_launch();
  release_next_launch();  // it copies inputs before it waits: they are complete now
  run_block<T, S, false, false>(k.base, [&k](const Bench<S>& w, Progress<S>& progress) {
    float state[kN / 2];
    hand_on_initial(k, w);
    walk_states<T>(w, state, progress);
  });
}

// Second pass, or the only one.
template <class T, int kN, int kHeads, bool kZ>
__global__ __launch_bounds__(Bf16StateShared<kN, kHeads, kZ, true>::kThreads,
                             1) void bf16_outputs(const __grid_constant__ Bf16StateScan k) {
  using S = Bf16StateShared<kN, kHeads, kZ, true>;
  if (k.base.segments == 1) wait_for_previous_launch();
  release_next_launch();
  run_block<T, S, kZ, true>(k.base, [&k](const Bench<S>& w, Progress<S>& progress) {
    uint32_t state[kN / 16][4];
    if (w.p.rank == 0 && w.p.last)  // nothing was handed on
      load_initial(k, w, state);
    else
      gather_state(k, w, state);
    walk_bf16<T, S, kZ>(k, w, state, progress);
    const HopperScan& base = k.base;
    if (k.final && w.p.last && w.l.stored)
      store_state(state,
                  k.final + w.p.sequence * base.final_stride[0] + w.head * base.final_stride[1],
                  base.final_stride[2], base.dstate, w.row_in_head, w.l);
  });
}

// Blocks of the pass that makes y, and of the one before it.
inline int64_t output_blocks(const HopperScan& scan) {
  return scan.part == 0 ? scan.units * scan.segments
                        : (scan.units * chunks_of(scan) + scan.part - 1) / scan.part;
}
inline int64_t state_blocks(const HopperScan& scan) {
  return scan.part == 0 ? scan.units * (scan.segments - 1) : output_blocks(scan) - 1;
}

template <class T, int kN, int kHeads, bool kZ>
cudaError_t launch_bf16_instance(const Bf16StateScan& scan, cudaStream_t stream) {
  using States = Bf16StateShared<kN, kHeads, false, false>;
  using Outputs = Bf16StateShared<kN, kHeads, kZ, true>;
  if (scan.base.segments > 1) {
    const cudaError_t error = launch_pass(bf16_states<T, kN, kHeads>, scan, state_blocks(scan.base),
                                          States::kThreads, States::kBytes, stream);
    if (error != cudaSuccess) return error;
  }
  return launch_pass(bf16_outputs<T, kN, kHeads, kZ>, scan, output_blocks(scan.base),
                     Outputs::kThreads, Outputs::kBytes, stream);
}

template <class T, int kN, int kHeads>
cudaError_t launch_bf16_heads(const Bf16StateScan& scan, bool gate, cudaStream_t stream) {
  return gate ? launch_bf16_instance<T, kN, kHeads, true>(scan, stream)
              : launch_bf16_instance<T, kN, kHeads, false>(scan, stream);
}

template <class T, int kN>
cudaError_t launch_bf16_typed(const Bf16StateScan& scan, bool gate, cudaStream_t stream) {
  if constexpr (fits(kN, 80)) {
    if (scan.base.headdim % 64 != 0)
      return scan.base.headdim >= 80 ? launch_bf16_heads<T, kN, 3>(scan, gate, stream)
                                     : launch_bf16_heads<T, kN, 4>(scan, gate, stream);
  }
  return launch_bf16_heads<T, kN, 2>(scan, gate, stream);
}

template <int kN>
cudaError_t launch_bf16_state(const Bf16StateScan& scan, DType dtype, bool gate,
                              cudaStream_t stream) {
  return dtype == DType::kF16 ? launch_bf16_typed<__half, kN>(scan, gate, stream)
                              : launch_bf16_typed<__nv_bfloat16, kN>(scan, gate, stream);
}

}  // namespace hiss::cuda::ssd
