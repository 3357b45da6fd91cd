// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/chunked_plan.cuh"
#include "cuda/tile/mma.cuh"
#include "cuda/tile/overlap.cuh"

// B and C of a chunk as operands of the matrix units, and C B^T, once for all heads of a group. A
// block for each strip of 16 tokens.
namespace hiss::cuda::ssd_chunk_scan {

inline constexpr int kPrepareThreads = 256;

constexpr int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

// Scores are C B^T times 2^-kScoreShift in units of B's and C's exponents: halves hold any of them.
template <int N>
inline constexpr int kScoreShift = 15 + log2_of(N);

// kRows rows of N elements of (tokens, dstate) memory, on their way through the registers of a
// block.
template <int N, int kRows>
struct Stage {
  static constexpr int kPairs = kRows * N / 2 / kPrepareThreads;
  float v[kPairs][2];

  __device__ static int row_of(int k) {
    return 2 * (k * kPrepareThreads + static_cast<int>(threadIdx.x)) / N;
  }
  __device__ static int state_of(int k) {
    return 2 * (k * kPrepareThreads + static_cast<int>(threadIdx.x)) % N;
  }

  // `count` rows from element `offset` on; zeros behind them.
  __device__ void read(const Tensor& m, int64_t offset, int count, int dstate) {
    with_elements_at(m, offset, [&](const auto* data) {
#pragma unroll
      for (int i = 0; i < 2 * kPairs; ++i) {
        const int row = row_of(i / 2), n = state_of(i / 2) + i % 2;
        v[i / 2][i % 2] =
            row < count && n < dstate ? to_float(data[row * m.stride[1] + n * m.stride[3]]) : 0.0f;
      }
    });
  }
  __device__ float largest() const {
    float result = 0;
#pragma unroll
    for (int i = 0; i < 2 * kPairs; ++i) result = fmaxf(result, finite_magnitude(v[i / 2][i % 2]));
    return result;
  }
  template <int kParts>
  __device__ void split_to(__half* shared, float scale) const {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      const int row = row_of(k), n = state_of(k);
      uint32_t parts[kParts];
      split<kParts>(v[k][0] * scale, v[k][1] * scale, parts);
#pragma unroll
      for (int i = 0; i < kParts; ++i)
        *reinterpret_cast<uint32_t*>(shared + i * kRows * N + swizzled(row, n / 8, N / 8) * 8 +
                                     n % 8) = parts[i];
    }
  }
};

// The exponents for two magnitudes of the block.
__device__ inline int2 block_exponents(float first, float second, float2* scratch) {
  first = warp_max(first);
  second = warp_max(second);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = make_float2(first, second);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kPrepareThreads / 32; ++i) {
    first = fmaxf(first, scratch[i].x);
    second = fmaxf(second, scratch[i].y);
  }
  return make_int2(exponent_for(first), exponent_for(second));
}

template <int N, int kParts>
constexpr int prepare_shared_bytes() {
  return kParts * (kChunk + kStrip) * N * 2 + 64;
}

// kPanels: operands lie in panels of 64 states, as Hopper's matrix units read them.
template <int N, int kParts, bool kPanels = false>
__global__ void __launch_bounds__(kPrepareThreads)
    prepare(const __grid_constant__ Scan scan, const __grid_constant__ Chunks out) {
  extern __shared__ __align__(16) unsigned char memory[];
  wait_for_kernels_before();
  let_next_kernel_start();
  __half* const b = reinterpret_cast<__half*>(memory);
  __half* const c = b + kParts * kChunk * N;
  float2* const scratch = reinterpret_cast<float2*>(c + kParts * kStrip * N);
  const int strip = static_cast<int>(blockIdx.x % (kChunk / kStrip));
  const int64_t record = blockIdx.x / (kChunk / kStrip);
  const int64_t slot = record / scan.ngroups, g = record % scan.ngroups;
  const Slots slots{scan.sequences, kChunk};
  const int64_t s = slots.owner_of(slot);
  const Span span = scan.sequences.at(s);
  const int64_t t0 = span.begin + (slot - slots.first_of(s)) * kChunk;
  if (t0 < span.begin || t0 >= span.end) return;
  const int count = static_cast<int>(min(span.end - t0, int64_t{kChunk}));

  Stage<N, kChunk> b_stage;
  Stage<N, kStrip> c_stage;
  b_stage.read(scan.B, span.row * scan.B.stride[0] + t0 * scan.B.stride[1] + g * scan.B.stride[2],
               count, scan.dstate);
  c_stage.read(
      scan.C,
      span.row * scan.C.stride[0] + (t0 + strip * kStrip) * scan.C.stride[1] + g * scan.C.stride[2],
      count - strip * kStrip, scan.dstate);
  const int2 exponents = block_exponents(b_stage.largest(), c_stage.largest(), scratch);
  b_stage.template split_to<kParts>(b, power_of_two(exponents.x));
  c_stage.template split_to<kParts>(c, power_of_two(exponents.y));
  if (threadIdx.x == 0) {
    out.exponents[record * 8 + strip] = exponents.y;
    if (strip == 0) out.exponents[record * 8 + 4] = exponents.x;
  }
  __syncthreads();

  // This strip of the operands.
  constexpr int kPieces = N / 8;  // of 16 bytes in a row
  for (int i = threadIdx.x; i < 2 * kParts * kStrip * kPieces; i += kPrepareThreads) {
    const int piece = i % (kStrip * kPieces), part = i / (kStrip * kPieces) % kParts;
    const int is_b = i / (kStrip * kPieces) / kParts;
    const __half* from = is_b ? b + (part * kChunk + strip * kStrip) * N : c + part * kStrip * N;
    __half* const to = out.operands + ((record * 2 + is_b) * kParts + part) * kChunk * N;
    const int row = strip * kStrip + piece / kPieces, q = piece % kPieces;
    const int at = kPanels ? (q / 8 * kChunk + row) * 8 + q % 8 : row * kPieces + q;
    *reinterpret_cast<uint4*>(to + at * 8) = *reinterpret_cast<const uint4*>(from + piece * 8);
  }

  // 16 rows of C B^T; a warp makes eight columns.
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp * 8 > strip * kStrip + kStrip - 1) return;
  float acc[2][4] = {};
#pragma unroll
  for (int k = 0; k < N; k += 32) {
    uint32_t bt[kParts][4];
#pragma unroll
    for (int i = 0; i < kParts; ++i)
      load_tiles(bt[i],
                 b + i * kChunk * N + swizzled(warp * 8 + lane % 8, k / 8 + lane / 8, kPieces) * 8);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t a[kParts][4];
#pragma unroll
      for (int i = 0; i < kParts; ++i)
        load_tiles(a[i], c + i * kStrip * N +
                             swizzled(lane % 16, k / 8 + half * 2 + lane / 16, kPieces) * 8);
      for_each_product<kParts>(
          [&](int i, int j) { mma(acc[half], a[i], bt[j][2 * half], bt[j][2 * half + 1]); });
    }
  }
  const float scale = power_of_two(-kScoreShift<N>);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = strip * kStrip + half * 8 + lane / 4, column = warp * 8 + lane % 4 * 2;
    float* to = out.scores + record * kChunk * kChunk + swizzled(row, column / 4, kChunk / 4) * 4;
    *reinterpret_cast<float2*>(to + column % 4) =
        make_float2((acc[0][2 * half] + acc[1][2 * half]) * scale,
                    (acc[0][2 * half + 1] + acc[1][2 * half + 1]) * scale);
  }
}

}  // namespace hiss::cuda::ssd_chunk_scan
