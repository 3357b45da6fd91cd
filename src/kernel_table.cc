// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// THE table: every kernel of every operator, best first, reference last. A kernel is a file that
// ends in one constant; a line here makes it selectable, tested and benchmarked.

#include "hiss/ops/all.h"

namespace hiss {

// src/cpu: <isa>::<op>::<algorithm>

// src/ref: <op>
namespace ref {
extern const Kernel<CausalConv1d> causal_conv1d;
extern const Kernel<CausalConv1dUpdate> causal_conv1d_update;
extern const Kernel<SelectiveScan> selective_scan;
extern const Kernel<SsdChunkScan> ssd_chunk_scan;
extern const Kernel<SelectiveStateUpdate> selective_state_update;
}  // namespace ref

template <>
std::span<const Kernel<CausalConv1d>* const> kernels<CausalConv1d>() {
  static constexpr const Kernel<CausalConv1d>* table[] = {
      &ref::causal_conv1d,
  };
  return table;
}

template <>
std::span<const Kernel<CausalConv1dUpdate>* const> kernels<CausalConv1dUpdate>() {
  static constexpr const Kernel<CausalConv1dUpdate>* table[] = {
      &ref::causal_conv1d_update,
  };
  return table;
}

template <>
std::span<const Kernel<SelectiveScan>* const> kernels<SelectiveScan>() {
  static constexpr const Kernel<SelectiveScan>* table[] = {
      &ref::selective_scan,
  };
  return table;
}

template <>
std::span<const Kernel<SsdChunkScan>* const> kernels<SsdChunkScan>() {
  static constexpr const Kernel<SsdChunkScan>* table[] = {
      &ref::ssd_chunk_scan,
  };
  return table;
}

template <>
std::span<const Kernel<SelectiveStateUpdate>* const> kernels<SelectiveStateUpdate>() {
  static constexpr const Kernel<SelectiveStateUpdate>* table[] = {
      &ref::selective_state_update,
  };
  return table;
}

}  // namespace hiss
