// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// THE table: every kernel of every operator, best first, reference last. A kernel is a file that
// ends in one constant; a line here makes it selectable, tested and benchmarked.

#include "hiss/ops/all.h"

namespace hiss {

template <>
std::span<const Kernel<CausalConv1d>* const> kernels<CausalConv1d>() {
  return {};
}
template <>
std::span<const Kernel<CausalConv1dUpdate>* const> kernels<CausalConv1dUpdate>() {
  return {};
}
template <>
std::span<const Kernel<SelectiveScan>* const> kernels<SelectiveScan>() {
  return {};
}
template <>
std::span<const Kernel<SsdChunkScan>* const> kernels<SsdChunkScan>() {
  return {};
}
template <>
std::span<const Kernel<SelectiveStateUpdate>* const> kernels<SelectiveStateUpdate>() {
  return {};
}

}  // namespace hiss
