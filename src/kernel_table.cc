// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// THE table: every kernel of every operator, best first, reference last. A kernel is a file that
// ends in one constant; a line here makes it selectable, tested and benchmarked.

#include "hiss/ops/all.h"

namespace hiss {

// src/cpu: <isa>::<op>::<algorithm>
#define HISS_DECLARE_CPU_ROWS(isa)                             \
  namespace cpu::isa::causal_conv1d {                          \
  extern const Kernel<CausalConv1d> lanes_over_dim;            \
  extern const Kernel<CausalConv1d> lanes_over_time;           \
  extern const Kernel<CausalConv1d> tiles;                     \
  }                                                            \
  namespace cpu::isa::causal_conv1d_update {                   \
  extern const Kernel<CausalConv1dUpdate> lanes_over_dim;      \
  }                                                            \
  namespace cpu::isa::selective_scan {                         \
  extern const Kernel<SelectiveScan> lanes_over_dim;           \
  }                                                            \
  namespace cpu::isa::selective_state_update {                 \
  extern const Kernel<SelectiveStateUpdate> rows_in_registers; \
  }                                                            \
  namespace cpu::isa::ssd_chunk_scan {                         \
  extern const Kernel<SsdChunkScan> state_in_registers;        \
  }
#if defined(__x86_64__)
HISS_DECLARE_CPU_ROWS(avx512)
HISS_DECLARE_CPU_ROWS(avx2)
HISS_DECLARE_CPU_ROWS(sse4)
namespace cpu::avx512_bf16::ssd_chunk_scan {
extern const Kernel<SsdChunkScan> chunked;
}
#elif defined(__aarch64__)
HISS_DECLARE_CPU_ROWS(neon)
#endif

// src/cuda: <op>::<algorithm>
#ifdef HISS_HAS_CUDA
namespace cuda {
namespace causal_conv1d {
extern const Kernel<CausalConv1d> lanes_over_dim;
extern const Kernel<CausalConv1d> lanes_over_time;
extern const Kernel<CausalConv1d> any_view;
}  // namespace causal_conv1d
namespace causal_conv1d_update {
extern const Kernel<CausalConv1dUpdate> lanes_over_dim;
}
namespace selective_scan {
extern const Kernel<SelectiveScan> bulk_tiles;
extern const Kernel<SelectiveScan> few_tokens;
extern const Kernel<SelectiveScan> helped_units;
extern const Kernel<SelectiveScan> lanes_over_state;
extern const Kernel<SelectiveScan> split_sequence;
}  // namespace selective_scan
namespace ssd_chunk_scan {
extern const Kernel<SsdChunkScan> state_in_accumulators;
extern const Kernel<SsdChunkScan> state_in_bf16;
extern const Kernel<SsdChunkScan> two_halves;
extern const Kernel<SsdChunkScan> chunked;
extern const Kernel<SsdChunkScan> sequential;
}  // namespace ssd_chunk_scan
namespace selective_state_update {
extern const Kernel<SelectiveStateUpdate> one_token;
extern const Kernel<SelectiveStateUpdate> rows_in_registers;
extern const Kernel<SelectiveStateUpdate> any_view;
}  // namespace selective_state_update
}  // namespace cuda
#endif

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
#ifdef HISS_HAS_CUDA
    &cuda::causal_conv1d::lanes_over_dim,
    &cuda::causal_conv1d::lanes_over_time,
    &cuda::causal_conv1d::any_view,
#endif
#if defined(__x86_64__)
    &cpu::avx512::causal_conv1d::lanes_over_dim,
    &cpu::avx512::causal_conv1d::tiles,
    &cpu::avx512::causal_conv1d::lanes_over_time,
    &cpu::avx2::causal_conv1d::lanes_over_dim,
    &cpu::avx2::causal_conv1d::tiles,
    &cpu::avx2::causal_conv1d::lanes_over_time,
    &cpu::sse4::causal_conv1d::lanes_over_dim,
    &cpu::sse4::causal_conv1d::tiles,
    &cpu::sse4::causal_conv1d::lanes_over_time,
#elif defined(__aarch64__)
    &cpu::neon::causal_conv1d::lanes_over_dim,
    &cpu::neon::causal_conv1d::tiles,
    &cpu::neon::causal_conv1d::lanes_over_time,
#endif
    &ref::causal_conv1d,
  };
  return table;
}

template <>
std::span<const Kernel<CausalConv1dUpdate>* const> kernels<CausalConv1dUpdate>() {
  static constexpr const Kernel<CausalConv1dUpdate>* table[] = {
#ifdef HISS_HAS_CUDA
    &cuda::causal_conv1d_update::lanes_over_dim,
#endif
#if defined(__x86_64__)
    &cpu::avx512::causal_conv1d_update::lanes_over_dim,
    &cpu::avx2::causal_conv1d_update::lanes_over_dim,
    &cpu::sse4::causal_conv1d_update::lanes_over_dim,
#elif defined(__aarch64__)
    &cpu::neon::causal_conv1d_update::lanes_over_dim,
#endif
    &ref::causal_conv1d_update,
  };
  return table;
}

template <>
std::span<const Kernel<SelectiveScan>* const> kernels<SelectiveScan>() {
  static constexpr const Kernel<SelectiveScan>* table[] = {
#ifdef HISS_HAS_CUDA
    &cuda::selective_scan::few_tokens,
    &cuda::selective_scan::split_sequence,
    &cuda::selective_scan::helped_units,
    &cuda::selective_scan::bulk_tiles,
    &cuda::selective_scan::lanes_over_state,
#endif
#if defined(__x86_64__)
    &cpu::avx512::selective_scan::lanes_over_dim,
    &cpu::avx2::selective_scan::lanes_over_dim,
    &cpu::sse4::selective_scan::lanes_over_dim,
#elif defined(__aarch64__)
    &cpu::neon::selective_scan::lanes_over_dim,
#endif
    &ref::selective_scan,
  };
  return table;
}

template <>
std::span<const Kernel<SsdChunkScan>* const> kernels<SsdChunkScan>() {
  static constexpr const Kernel<SsdChunkScan>* table[] = {
#ifdef HISS_HAS_CUDA
    &cuda::ssd_chunk_scan::state_in_accumulators,
    &cuda::ssd_chunk_scan::state_in_bf16,
    &cuda::ssd_chunk_scan::two_halves,
    &cuda::ssd_chunk_scan::chunked,
    &cuda::ssd_chunk_scan::sequential,
#endif
#if defined(__x86_64__)
    &cpu::avx512_bf16::ssd_chunk_scan::chunked,
    &cpu::avx512::ssd_chunk_scan::state_in_registers,
    &cpu::avx2::ssd_chunk_scan::state_in_registers,
    &cpu::sse4::ssd_chunk_scan::state_in_registers,
#elif defined(__aarch64__)
    &cpu::neon::ssd_chunk_scan::state_in_registers,
#endif
    &ref::ssd_chunk_scan,
  };
  return table;
}

template <>
std::span<const Kernel<SelectiveStateUpdate>* const> kernels<SelectiveStateUpdate>() {
  static constexpr const Kernel<SelectiveStateUpdate>* table[] = {
#ifdef HISS_HAS_CUDA
    &cuda::selective_state_update::one_token,
    &cuda::selective_state_update::rows_in_registers,
    &cuda::selective_state_update::any_view,
#endif
#if defined(__x86_64__)
    &cpu::avx512::selective_state_update::rows_in_registers,
    &cpu::avx2::selective_state_update::rows_in_registers,
    &cpu::sse4::selective_state_update::rows_in_registers,
#elif defined(__aarch64__)
    &cpu::neon::selective_state_update::rows_in_registers,
#endif
    &ref::selective_state_update,
  };
  return table;
}

}  // namespace hiss
