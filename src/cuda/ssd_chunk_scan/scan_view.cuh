// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <initializer_list>

#include "cuda/tile/element.cuh"
#include "cuda/tile/math.cuh"
#include "cuda/tile/sequences.cuh"
#include "hiss/ops/ssd_chunk_scan.h"

// The arguments of ssd_chunk_scan as kernels see them, and what the portable kernels share:
// elements of any type, step sizes, where sequences and pieces of them lie.
namespace hiss::cuda::ssd_chunk_scan {

// A tensor of at most four axes in device memory, or nothing.
struct Tensor {
  void* data;  // nullptr: absent
  DType dtype;
  int64_t stride[5];
};

struct Scan {
  Tensor x, dt, A, B, C, D, z, dt_bias, initial_states, final_states, checkpoint_states, y;
  Tensor checkpoint_tokens;
  Sequences sequences;
  int nheads, headdim, dstate, ngroups;
  int ncheckpoints;
  bool dt_softplus, A_is_log, D_has_headdim;
  float dt_min, dt_max;
};

inline Tensor tensor(const ConstTensorView& view) {
  Tensor t{const_cast<void*>(view.data), view.dtype, {}};
  if (!view.present()) t.data = nullptr;
  for (int i = 0; i < kMaxRank; ++i) t.stride[i] = view.stride[i];
  return t;
}

inline Scan scan_of(const SsdChunkScan::Args& a, const SsdChunkScan::Problem& p) {
  return {.x = tensor(a.x),
          .dt = tensor(a.dt),
          .A = tensor(a.A),
          .B = tensor(a.B),
          .C = tensor(a.C),
          .D = tensor(a.D),
          .z = tensor(a.z),
          .dt_bias = tensor(a.dt_bias),
          .initial_states = tensor(a.initial_states),
          .final_states = tensor(a.final_states),
          .checkpoint_states = tensor(a.checkpoint_states),
          .y = tensor(a.y),
          .checkpoint_tokens = tensor(a.checkpoint_tokens),
          .sequences = Sequences::of(a.cu_seqlens, p.batch, p.seqlen),
          .nheads = static_cast<int>(p.nheads),
          .headdim = static_cast<int>(p.headdim),
          .dstate = static_cast<int>(p.dstate),
          .ngroups = static_cast<int>(p.ngroups),
          .ncheckpoints = static_cast<int>(p.ncheckpoints),
          .dt_softplus = a.dt_softplus,
          .A_is_log = a.A_is_log,
          .D_has_headdim = a.D.rank == 2,
          .dt_min = a.dt_min,
          .dt_max = a.dt_max};
}

// Host: whether all that are present can be accessed four elements of the last axis at a time.
inline bool in_fours(std::initializer_list<ConstTensorView> views) {
  for (const ConstTensorView& view : views) {
    const int last = view.rank - 1;
    if (view.present() && (view.shape[last] % 4 != 0 || view.stride[last] != 1 ||
                           !aligned_rows(view, last, 4 * size_of(view.dtype))))
      return false;
  }
  return true;
}
inline bool states_in_fours(const SsdChunkScan::Args& a) {
  return in_fours({a.initial_states, a.final_states, a.checkpoint_states});
}

// Element `offset` of memory of this type.
__device__ __forceinline__ float load(const void* data, DType dtype, int64_t offset) {
  if (dtype == DType::kF32) return static_cast<const float*>(data)[offset];
  if (dtype == DType::kBF16) return to_float(static_cast<const __nv_bfloat16*>(data)[offset]);
  return to_float(static_cast<const __half*>(data)[offset]);
}

__device__ __forceinline__ void store(void* data, DType dtype, int64_t offset, float value) {
  if (dtype == DType::kF32)
    static_cast<float*>(data)[offset] = value;
  else if (dtype == DType::kBF16)
    static_cast<__nv_bfloat16*>(data)[offset] = from_float<__nv_bfloat16>(value);
  else
    static_cast<__half*>(data)[offset] = from_float<__half>(value);
}

// Calls f(pointer) with a pointer of the tensor's type to its element `offset`. For loops: one
// branch around all of them.
template <class F>
__device__ __forceinline__ void with_elements_at(const Tensor& t, int64_t offset, F&& f) {
  if (t.dtype == DType::kF32)
    f(static_cast<float*>(t.data) + offset);
  else if (t.dtype == DType::kBF16)
    f(static_cast<__nv_bfloat16*>(t.data) + offset);
  else
    f(static_cast<__half*>(t.data) + offset);
}

// Element i of a list of F32 with one value a head; 0 without the list.
__device__ __forceinline__ float of_head(const Tensor& list, int h) {
  return list.data ? static_cast<const float*>(list.data)[h * list.stride[0]] : 0.0f;
}

__device__ __forceinline__ float skip_of(const Scan& scan, int h, int p) {
  if (scan.D.data == nullptr) return 0.0f;
  const int64_t row = scan.D_has_headdim ? p * scan.D.stride[1] : 0;
  return static_cast<const float*>(scan.D.data)[h * scan.D.stride[0] + row];
}

__device__ __forceinline__ int64_t token_of(const Tensor& list, int64_t i) {
  return static_cast<const int64_t*>(list.data)[i * list.stride[0]];
}

// The first checkpoint at or after a token.
__device__ inline int first_checkpoint(const Scan& scan, int64_t token) {
  int low = 0;
  for (int high = scan.ncheckpoints; low < high;) {
    const int middle = (low + high) / 2;
    if (token_of(scan.checkpoint_tokens, middle) < token)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// delta of one token and head; NaN stays NaN.
__device__ __forceinline__ float step_size(const Scan& scan, float v) {
  if (scan.dt_softplus) v = softplus(v);
  v = v < scan.dt_min ? scan.dt_min : v;
  return v > scan.dt_max ? scan.dt_max : v;
}

// A of a head, from what the tensor A holds.
__device__ __forceinline__ double decay_rate(const Scan& scan, int h) {
  const double a = of_head(scan.A, h);
  return scan.A_is_log ? -exp(a) : a;
}

// Sequences are cut into pieces of `length` tokens, the last of each being shorter; an empty one
// has a piece too, for its states. Where only the device knows the lengths, sequence s owns the
// slots from begin / length + s on: never too few, and the same number of slots for any lengths.
__host__ __device__ inline int64_t pieces_of(int64_t seqlen, int64_t length) {
  return seqlen > length ? (seqlen + length - 1) / length : 1;
}

inline int64_t slots_of(const SsdChunkScan::Problem& p, int64_t length) {
  return p.packed ? p.seqlen / length + p.nseq : p.nseq * pieces_of(p.seqlen, length);
}

struct Slots {
  const Sequences& sequences;
  int64_t length;

  __device__ int64_t first_of(int64_t s) const {
    if (sequences.cu_seqlens == nullptr) return s * pieces_of(sequences.seqlen, length);
    return sequences.at(s).begin / length + s;
  }
  // The sequence that owns a slot: the last whose first slot is not behind it.
  __device__ int64_t owner_of(int64_t slot) const {
    if (sequences.cu_seqlens == nullptr) return slot / pieces_of(sequences.seqlen, length);
    int64_t low = 0;
    for (int64_t high = sequences.nseq - 1; low < high;) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (first_of(middle) <= slot)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }
};

}  // namespace hiss::cuda::ssd_chunk_scan
