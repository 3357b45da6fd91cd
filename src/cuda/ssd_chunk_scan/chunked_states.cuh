// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/chunked_plan.cuh"

// States of a warp's 16 rows between its registers and tensors, 32 states at a time through the
// memory that x has otherwise.
namespace hiss::cuda::ssd_chunk_scan {

struct StateRows {
  static constexpr int kStates = 32;
  const Scan& scan;
  const int p0, lane;
  const bool in_fours;  // every tensor of states is dense and aligned
  float* const tile;    // [state][row]
  const int stride;

  // Where the lane's element i of tile t lies in memory.
  __device__ float& at(int t, int i) const {
    return tile[(t % 4 * 8 + lane % 4 * 2 + i % 2) * stride + i / 2 * 8 + lane / 4];
  }

  // f(row, state) for every fourth state of 32 from n0 on, or for every one of them.
  template <class F>
  __device__ __forceinline__ void for_each_four(int n0, F&& f) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int p = i * 4 + lane / 8, n = lane % 8 * 4;
      if (p0 + p < scan.headdim && n0 + n < scan.dstate) f(i, p, n);
    }
  }
  template <class F>
  __device__ __forceinline__ void for_each(int n0, F&& f) const {
    for (int i = lane; i < 16 * kStates; i += 32) {
      const int p = i / kStates, n = i % kStates;
      if (p0 + p < scan.headdim && n0 + n < scan.dstate) f(p, n);
    }
  }

  // Memory to tile. `head`: offset of the head's matrix; `axis`: of its rows.
  __device__ void read(const Tensor& m, int64_t head, int axis, int n0) const {
    const int64_t first = head + p0 * m.stride[axis] + n0 * m.stride[axis + 1];
    __syncwarp();
    for (int i = lane; i < 16 * kStates; i += 32) tile[i % kStates * stride + i / kStates] = 0;
    __syncwarp();
    if (in_fours) {
      with_elements_at(m, first, [&](const auto* from) {
        float v[4][4];
        for_each_four(n0,
                      [&](int i, int p, int n) { load_pack(from + p * m.stride[axis] + n, v[i]); });
        for_each_four(n0, [&](int i, int p, int n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) tile[(n + e) * stride + p] = v[i][e];
        });
      });
    } else {
      for_each(n0, [&](int p, int n) {
        tile[n * stride + p] =
            load(m.data, m.dtype, first + p * m.stride[axis] + n * m.stride[axis + 1]);
      });
    }
    __syncwarp();
  }

  // Tile to memory.
  __device__ void write(const Tensor& m, int64_t head, int axis, int n0) const {
    const int64_t first = head + p0 * m.stride[axis] + n0 * m.stride[axis + 1];
    __syncwarp();
    if (in_fours) {
      with_elements_at(m, first, [&](auto* to) {
        for_each_four(n0, [&](int, int p, int n) {
          float v[4];
#pragma unroll
          for (int e = 0; e < 4; ++e) v[e] = tile[(n + e) * stride + p];
          store_pack(v, to + p * m.stride[axis] + n);
        });
      });
    } else {
      for_each(n0, [&](int p, int n) {
        store(m.data, m.dtype, first + p * m.stride[axis] + n * m.stride[axis + 1],
              tile[n * stride + p]);
      });
    }
    __syncwarp();
  }
};

}  // namespace hiss::cuda::ssd_chunk_scan
