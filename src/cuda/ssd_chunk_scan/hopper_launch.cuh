// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper_kernel.cuh"

namespace hiss::cuda::ssd {

// Begins while the launch before it still runs, and waits for it itself.
template <class Scan>
cudaError_t launch_pass(void (*kernel)(Scan), const Scan& scan, int64_t blocks, int threads,
                        int shared_bytes, cudaStream_t stream) {
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, scan);
}

template <class T, int kN, int kHeads, bool kZ>
cudaError_t launch_instance(const HopperScan& scan, cudaStream_t stream) {
  using States = Shared<kN, kHeads, false, false>;
  using Outputs = Shared<kN, kHeads, kZ, true>;
  const bool in_tails = scan.tails.part > 0;
  const int units = static_cast<int>(scan.units);
  if (scan.segments > 1) {
    auto* states = hopper_states<T, kN, kHeads, false>;
    if constexpr (kN <= 128)
      if (in_tails) states = hopper_states<T, kN, kHeads, true>;
    const cudaError_t error = launch_pass(
        states, scan, in_tails ? scan.tails.state_blocks(units) : scan.units * (scan.segments - 1),
        States::kThreads, States::kBytes, stream);
    if (error != cudaSuccess) return error;
  }
  const int64_t blocks = in_tails                ? scan.tails.blocks(units)
                         : scan.ranges.count > 0 ? scan.ranges.count
                                                 : scan.units * scan.segments;
  return launch_pass(hopper_outputs<T, kN, kHeads, kZ>, scan, blocks, Outputs::kThreads,
                     Outputs::kBytes, stream);
}

template <class T, int kN, int kHeads>
cudaError_t launch_heads(const HopperScan& scan, bool gate, cudaStream_t stream) {
  return gate ? launch_instance<T, kN, kHeads, true>(scan, stream)
              : launch_instance<T, kN, kHeads, false>(scan, stream);
}

template <class T, int kN>
cudaError_t launch_typed(const HopperScan& scan, bool gate, cudaStream_t stream) {
  if constexpr (fits(kN, 80)) {
    if (scan.headdim % 64 != 0)
      return scan.headdim >= 80 ? launch_heads<T, kN, 3>(scan, gate, stream)
                                : launch_heads<T, kN, 4>(scan, gate, stream);
  }
  return launch_heads<T, kN, 2>(scan, gate, stream);
}

template <int kN>
cudaError_t launch_hopper(const HopperScan& scan, DType dtype, bool gate, cudaStream_t stream) {
  return dtype == DType::kF16 ? launch_typed<__half, kN>(scan, gate, stream)
                              : launch_typed<__nv_bfloat16, kN>(scan, gate, stream);
}

}  // namespace hiss::cuda::ssd
