// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// What the plugin shows besides ggml's entry point, for comparisons in one process.
namespace hiss::ggml {

inline constexpr int kCpuHook = 1, kCudaHook = 2;  // bits

}  // namespace hiss::ggml

// Switches the hooks; tells which of them there are, as a sum of bits.
extern "C" int hiss_ggml_set_enabled(int enabled);
// How many nodes have been computed inside them.
extern "C" int64_t hiss_ggml_nodes_computed();
