// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/tensor.h"

namespace hiss {

const char* to_string(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "F32";
    case DType::kF16:
      return "F16";
    case DType::kBF16:
      return "BF16";
    case DType::kF64:
      return "F64";
    case DType::kI32:
      return "I32";
    case DType::kI64:
      return "I64";
  }
  return "unknown";
}

std::string to_string(const ConstTensorView& view) {
  if (!view.present()) return "absent";
  std::string text = std::string(to_string(view.dtype)) + " [";
  for (int i = 0; i < view.rank; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(view.shape[i]);
  }
  return text + "]";
}

}  // namespace hiss
