// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "hiss/machine.h"

// A kernel that starts while the one before it in the stream still runs, and does what does not
// depend on it meanwhile. On chips before sm_90 nothing overlaps.
namespace hiss::cuda {

// All that kernels before this one wrote is visible behind this.
__device__ __forceinline__ void wait_for_kernels_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next kernel may start, as soon as every block has said so or ended. It still has to wait for
// the results of this one.
__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Launches a kernel that waits for those before it.
template <class... Parameters, class... Arguments>
void start_overlapped(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, size_t shared_bytes,
                      cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = this_machine().cuda_sm >= 90 ? 1 : 0;
  // What goes wrong is what cudaGetLastError() says.
  static_cast<void>(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

}  // namespace hiss::cuda
