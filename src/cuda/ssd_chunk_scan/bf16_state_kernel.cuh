// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/bf16_state_walk.cuh"
#include "cuda/ssd_chunk_scan/hopper_launch.cuh"

namespace hiss::cuda::ssd {

// First pass: the blocks of all segments but the last.
template <class T, int kN, int kHeads>
__global__ __launch_bounds__(Bf16StateShared<kN, kHeads, false, false>::kThreads,
                             1) void bf16_states(const __grid_constant__ HopperScan k) {
  using S = Bf16StateShared<kN, kHeads, false, false>;
  wait_for_previous_launch();
  release_next_launch();  // it copies inputs before it waits: they are complete now
  run_block<T, S, false, false>(k, [](const Bench<S>& w, Progress<S>& progress) {
    float state[kN / 2];
    walk_states<T>(w, state, progress);
  });
}

// Second pass, or the only one.
template <class T, int kN, int kHeads, bool kZ>
__global__ __launch_bounds__(Bf16StateShared<kN, kHeads, kZ, true>::kThreads,
                             1) void bf16_outputs(const __grid_constant__ HopperScan k) {
  using S = Bf16StateShared<kN, kHeads, kZ, true>;
  if (k.segments == 1) wait_for_previous_launch();
  release_next_launch();
  run_block<T, S, kZ, true>(k, [](const Bench<S>& w, Progress<S>& progress) {
    if constexpr (kN <= kAccumulatedDstate) {
      float state[kN / 2];
      if (w.k.segments == 1)
        load_initial(w, state);
      else
        gather_state(w, state);
      pin(state);  // or registers of what was loaded move to others at each step of the walk
      walk_rows<T, S, kZ>(w, state, progress);
      store_final(w, state, progress.previous_row);
    } else {
      uint32_t state[kN / 16][4];
      if (w.k.segments == 1)
        load_initial(w, state);
      else
        gather_state(w, state);
      walk_bf16<T, S, kZ>(w, state, progress);
      store_final(w, state, progress.previous_row);
    }
  });
}

template <class T, int kN, int kHeads, bool kZ>
cudaError_t launch_bf16_instance(const HopperScan& scan, cudaStream_t stream) {
  using States = Bf16StateShared<kN, kHeads, false, false>;
  using Outputs = Bf16StateShared<kN, kHeads, kZ, true>;
  if (scan.segments > 1) {
    const cudaError_t error =
        launch_pass(bf16_states<T, kN, kHeads>, scan, scan.units * (scan.segments - 1),
                    States::kThreads, States::kBytes, stream);
    if (error != cudaSuccess) return error;
  }
  const int64_t blocks = scan.ranges.count > 0 ? scan.ranges.count : scan.units * scan.segments;
  return launch_pass(bf16_outputs<T, kN, kHeads, kZ>, scan, blocks, Outputs::kThreads,
                     Outputs::kBytes, stream);
}

template <class T, int kN, int kHeads>
cudaError_t launch_bf16_heads(const HopperScan& scan, bool gate, cudaStream_t stream) {
  return gate ? launch_bf16_instance<T, kN, kHeads, true>(scan, stream)
              : launch_bf16_instance<T, kN, kHeads, false>(scan, stream);
}

template <class T, int kN>
cudaError_t launch_bf16_typed(const HopperScan& scan, bool gate, cudaStream_t stream) {
  if constexpr (fits(kN, 80)) {
    if (scan.headdim % 64 != 0)
      return scan.headdim >= 80 ? launch_bf16_heads<T, kN, 3>(scan, gate, stream)
                                : launch_bf16_heads<T, kN, 4>(scan, gate, stream);
  }
  return launch_bf16_heads<T, kN, 2>(scan, gate, stream);
}

template <int kN>
cudaError_t launch_bf16_state(const HopperScan& scan, DType dtype, bool gate, cudaStream_t stream) {
  return dtype == DType::kF16 ? launch_bf16_typed<__half, kN>(scan, gate, stream)
                              : launch_bf16_typed<__nv_bfloat16, kN>(scan, gate, stream);
}

}  // namespace hiss::cuda::ssd
