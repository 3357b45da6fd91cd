// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/mma_plan.cuh"
#include "cuda/tile/mma.cuh"

// B and C of a chunk as operands of the matrix units, and C B^T, once for all heads of a group. A
// block for each strip of 16 tokens.
namespace hiss::cuda::ssd_chunk_scan {

inline constexpr int kPrepareThreads = 256;

constexpr int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

// Scores are C B^T times 2^-kScoreShift in units of B's and C's exponents: halves hold any of them.
template <int N>
inline constexpr int kScoreShift = 15 + log2_of(N);

__device__ inline float block_max(float v, float* scratch) {
  v = warp_max(v);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  for (int i = 0; i < kPrepareThreads / 32; ++i) v = fmaxf(v, scratch[i]);
  __syncthreads();
  return v;
}

// kRows rows of N elements of (tokens, dstate) memory from token t0 on, zeros after `count`, split
// into shared memory. Returns their exponent.
template <int N, int kParts, int kRows>
__device__ int stage(const Tensor& m, int64_t offset, int64_t t0, int count, int dstate,
                     __half* shared, float* scratch) {
  constexpr int kPairs = kRows * N / 2 / kPrepareThreads;
  float v[kPairs][2];
  float largest = 0;
  const auto read = [&]<class T>(const T* data) {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      const int e = 2 * (k * kPrepareThreads + static_cast<int>(threadIdx.x));
      const int row = e / N, n = e % N;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        v[k][i] = row < count && n + i < dstate
                      ? to_float(data[(t0 + row) * m.stride[1] + (n + i) * m.stride[3]])
                      : 0.0f;
        largest = fmaxf(largest, finite_magnitude(v[k][i]));
      }
    }
  };
  with_elements_at(m, offset, read);
  const int exponent = exponent_for(block_max(largest, scratch));
  const float scale = power_of_two(exponent);
#pragma unroll
  for (int k = 0; k < kPairs; ++k) {
    const int e = 2 * (k * kPrepareThreads + static_cast<int>(threadIdx.x));
    const int row = e / N, n = e % N;
    uint32_t parts[kParts];
    split<kParts>(v[k][0] * scale, v[k][1] * scale, parts);
#pragma unroll
    for (int i = 0; i < kParts; ++i)
      *reinterpret_cast<uint32_t*>(shared + i * kRows * N + swizzled(row, n / 8, N / 8) * 8 +
                                   n % 8) = parts[i];
  }
  return exponent;
}

template <int N, int kParts>
constexpr int prepare_shared_bytes() {
  return kParts * (kChunk + kStrip) * N * 2 + 64;
}

template <int N, int kParts>
__global__ void __launch_bounds__(kPrepareThreads)
    prepare(const __grid_constant__ Scan scan, const __grid_constant__ Chunks out) {
  extern __shared__ __align__(16) unsigned char memory[];
  __half* const b = reinterpret_cast<__half*>(memory);
  __half* const c = b + kParts * kChunk * N;
  float* const scratch = reinterpret_cast<float*>(c + kParts * kStrip * N);
  const int strip = static_cast<int>(blockIdx.x % (kChunk / kStrip));
  const int64_t record = blockIdx.x / (kChunk / kStrip);
  const int64_t slot = record / scan.ngroups, g = record % scan.ngroups;
  const Slots slots{scan.sequences, kChunk};
  const int64_t s = slots.owner_of(slot);
  const Span span = scan.sequences.at(s);
  const int64_t t0 = span.begin + (slot - slots.first_of(s)) * kChunk;
  if (t0 < span.begin || t0 >= span.end) return;
  const int count = static_cast<int>(min(span.end - t0, int64_t{kChunk}));

  const int b_exponent =
      stage<N, kParts, kChunk>(scan.B, span.row * scan.B.stride[0] + g * scan.B.stride[2], t0, count,
                               scan.dstate, b, scratch);
  const int c_exponent =
      stage<N, kParts, kStrip>(scan.C, span.row * scan.C.stride[0] + g * scan.C.stride[2],
                               t0 + strip * kStrip, count - strip * kStrip, scan.dstate, c, scratch);
  if (threadIdx.x == 0) {
    out.exponents[record * 8 + strip] = c_exponent;
    if (strip == 0) out.exponents[record * 8 + 4] = b_exponent;
  }
  __syncthreads();

  // This strip of the operands.
  constexpr int kPieces = N / 8;  // of 16 bytes in a row
  for (int i = threadIdx.x; i < 2 * kParts * kStrip * kPieces; i += kPrepareThreads) {
    const int piece = i % kPieces, row = i / kPieces % kStrip;
    const int part = i / kPieces / kStrip % kParts, is_b = i / kPieces / kStrip / kParts;
    const __half* from = is_b ? b + part * kChunk * N + swizzled(strip * kStrip + row, piece, kPieces) * 8
                              : c + part * kStrip * N + swizzled(row, piece, kPieces) * 8;
    const int64_t to = ((record * 2 + is_b) * kParts + part) * kChunk + strip * kStrip + row;
    *reinterpret_cast<uint4*>(out.operands + to * N + piece * 8) =
        *reinterpret_cast<const uint4*>(from);
  }

  // 16 rows of C B^T; a warp makes eight columns.
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp * 8 > strip * kStrip + kStrip - 1) return;
  float acc[4] = {};
#pragma unroll
  for (int k = 0; k < N; k += 32) {
    uint32_t bt[kParts][4];
#pragma unroll
    for (int i = 0; i < kParts; ++i)
      load_tiles(bt[i], b + i * kChunk * N +
                            swizzled(warp * 8 + lane % 8, k / 8 + lane / 8, kPieces) * 8);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t a[kParts][4], b0[kParts], b1[kParts];
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        load_tiles(a[i], c + i * kStrip * N +
                             swizzled(lane % 16, k / 8 + half * 2 + lane / 16, kPieces) * 8);
        b0[i] = bt[i][2 * half], b1[i] = bt[i][2 * half + 1];
      }
      mma_split<kParts>(acc, a, b0, b1);
    }
  }
  const float scale = power_of_two(-kScoreShift<N>);
  float* scores = out.scores + (record * kChunk + strip * kStrip) * kChunk;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    scores[(lane / 4 + i / 2 * 8) * kChunk + warp * 8 + lane % 4 * 2 + i % 2] = acc[i] * scale;
}

}  // namespace hiss::cuda::ssd_chunk_scan
