// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/hopper_kernel.cuh"

namespace hiss::cuda::ssd {

template <class T, int kN, int kHeads, bool kZ>
cudaError_t launch_instance(const HopperScan& scan, int64_t blocks, cudaStream_t stream) {
  const auto kernel = hopper_scan<T, kN, kHeads, kZ>;
  constexpr int kBytes = Shared<kN, kHeads, kZ>::kBytes;
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(scan.segments * scan.share), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kBytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, scan);
}

template <class T, int kN>
cudaError_t launch_typed(const HopperScan& scan, bool gate, int64_t blocks, cudaStream_t stream) {
  if (scan.headdim % 64 == 0)
    return gate ? launch_instance<T, kN, 1, true>(scan, blocks, stream)
                : launch_instance<T, kN, 1, false>(scan, blocks, stream);
  return gate ? launch_instance<T, kN, 2, true>(scan, blocks, stream)
              : launch_instance<T, kN, 2, false>(scan, blocks, stream);
}

template <int kN>
cudaError_t launch_hopper(const HopperScan& scan, DType dtype, bool gate, int64_t blocks,
                          cudaStream_t stream) {
  return dtype == DType::kF16 ? launch_typed<__half, kN>(scan, gate, blocks, stream)
                              : launch_typed<__nv_bfloat16, kN>(scan, gate, blocks, stream);
}

}  // namespace hiss::cuda::ssd
