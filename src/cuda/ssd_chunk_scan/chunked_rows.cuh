// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/chunked_plan.cuh"

// How the 16 rows of two warps come and go, each warp seeing to half of the tokens: x of a chunk
// through registers into shared memory, y from there past the gate. Four neighbouring rows of a
// token at a time where memory allows, else one.
namespace hiss::cuda::ssd_chunk_scan {

struct Rows {
  const Scan& scan;
  const int64_t row;    // of the batch
  const int h, p0;      // head; first of the 16 rows
  const bool in_fours;  // x, z and y are dense and aligned
  const int lane, j0;   // j0: the first of the warp's tokens of a chunk
  float next[4][4];     // x of tokens j0 + 8 i + lane / 4, rows lane % 4 * 4 on: on its way

  __device__ int64_t offset(const Tensor& t, int64_t token) const {
    return row * t.stride[0] + token * t.stride[1] + h * t.stride[2] + p0 * t.stride[3];
  }

  // Asks for x of `count` tokens from t0 on.
  __device__ void fetch(int64_t t0, int count) {
    if (!in_fours) return;
    const int p = lane % 4 * 4;
    with_elements_at(scan.x, offset(scan.x, t0) + p, [&]<class T>(const T* x) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = j0 + i * 8 + lane / 4;
        if (j < count && p0 + p < scan.headdim)
          load_pack(x + j * scan.x.stride[1], next[i]);
        else
          next[i][0] = next[i][1] = next[i][2] = next[i][3] = 0;
      }
    });
  }

  // What was asked for into the tile.
  __device__ void put(int64_t t0, int count, float* tile, int stride) const {
    if (in_fours) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        store_pack(next[i], tile + (j0 + i * 8 + lane / 4) * stride + lane % 4 * 4);
      return;
    }
    for (int i = lane; i < kChunk / 2 * 16; i += 32) {
      const int j = j0 + i / 16, p = i % 16;
      tile[j * stride + p] =
          j < count && p0 + p < scan.headdim
              ? load(scan.x.data, scan.x.dtype, offset(scan.x, t0 + j) + p * scan.x.stride[3])
              : 0.0f;
    }
  }

  // The tile, times SiLU(z), to y.
  __device__ void write(int64_t t0, int count, const float* tile, int stride) const {
    for (int i = lane; i < kChunk / 2 * 16; i += 32) {
      const int j = j0 + i / 16, p = i % 16;
      if (j >= count || p0 + p >= scan.headdim) continue;
      float v = tile[j * stride + p];
      if (scan.z.data)
        v *= silu(load(scan.z.data, scan.z.dtype, offset(scan.z, t0 + j) + p * scan.z.stride[3]));
      store(scan.y.data, scan.y.dtype, offset(scan.y, t0 + j) + p * scan.y.stride[3], v);
    }
  }
};

}  // namespace hiss::cuda::ssd_chunk_scan
