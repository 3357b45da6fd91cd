// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "hiss/tensor.h"

// Host: descriptions of tensors for bulk copies.
namespace hiss::cuda {

using TensorMapEncoder = decltype(&cuTensorMapEncodeTiled);

// From the driver, so that libcuda need not be linked; null where the driver is too old.
inline TensorMapEncoder tensor_map_encoder() {
  static const TensorMapEncoder encoder = []() -> TensorMapEncoder {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                         cudaEnableDefault, &result) != cudaSuccess ||
        result != cudaDriverEntryPointSuccess)
      return nullptr;
    return reinterpret_cast<TensorMapEncoder>(function);
  }();
  return encoder;
}

inline CUtensorMapDataType tensor_map_type(DType dtype) {
  if (dtype == DType::kF32) return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  return dtype == DType::kF16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

}  // namespace hiss::cuda
