// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ggml/ggml_abi.h"

namespace hiss::ggml {

// A dense tensor of ggml's without data, of four-byte elements.
inline Tensor dense_tensor(std::array<int64_t, 4> ne, int type = kTypeF32) {
  Tensor t{};
  t.type = type;
  size_t bytes = 4;
  for (size_t i = 0; i < 4; ++i) {
    t.ne[i] = ne[i], t.nb[i] = bytes;
    bytes *= static_cast<size_t>(ne[i]);
  }
  return t;
}

}  // namespace hiss::ggml
