// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/chunked_rows.cuh"
#include "cuda/ssd_chunk_scan/chunked_states.cuh"
#include "cuda/ssd_chunk_scan/chunked_warp.cuh"
#include "cuda/tile/async_copy.cuh"

// The walk over the chunks of a segment. A block has a tile of rows of one head, two warps 16
// of them. Its warps share C, B, and the scores with mask and decay, M:
//
//   y = growth (2^lowest C S^T + M (delta x)),  M[i,j] = C_i B_j 2^(lowest[i] - sum[j]), j <= i
//   S = 2^sum S + (weight delta x)^T B
//
// C of the next chunk is on its way while M and B of this one are used, scores and B while C is.
namespace hiss::cuda::ssd_chunk_scan {

// Scores become M: mask, decay, split. By the whole block.
template <int N, int kParts>
__device__ void make_mask(Shared<N, kParts>& shared, const Times& times) {
  for (int i = threadIdx.x; i < kChunk * kChunk / 8; i += blockDim.x) {
    const int row = i / (kChunk / 8), piece = i % (kChunk / 8), j0 = piece * 8;
    if (j0 > (row | 15)) continue;
    float4* const pieces = reinterpret_cast<float4*>(shared.scores);
    float4* const first = pieces + swizzled(row, 2 * piece, kChunk / 4);
    float4* const second = pieces + swizzled(row, 2 * piece + 1, kChunk / 4);
    const float4 v0 = *first, v1 = *second;
    float m[8] = {v0.x, v0.y, v0.z, v0.w, v1.x, v1.y, v1.z, v1.w};
    const float2 lowest = times.lowest[row];
    const float4* const sums = reinterpret_cast<const float4*>(times.sum + j0);
#pragma unroll
    for (int e = 0; e < 8; e += 2) {
      const float4 sum = sums[e / 2];
      const float w0 = Times::power_of_difference(lowest, make_float2(sum.x, sum.y));
      const float w1 = Times::power_of_difference(lowest, make_float2(sum.z, sum.w));
      m[e] = j0 + e <= row ? m[e] * w0 : 0.0f;
      m[e + 1] = j0 + e + 1 <= row ? m[e + 1] * w1 : 0.0f;
    }
    uint32_t parts[4][kParts];
#pragma unroll
    for (int e = 0; e < 4; ++e) split<kParts>(m[2 * e], m[2 * e + 1], parts[e]);
    *reinterpret_cast<uint4*>(first) =
        make_uint4(parts[0][0], parts[1][0], parts[2][0], parts[3][0]);
    if constexpr (kParts == 2)
      *reinterpret_cast<uint4*>(second) =
          make_uint4(parts[0][1], parts[1][1], parts[2][1], parts[3][1]);
  }
}

// The pieces of a segment's chunks, from where `prepare` left them as they lie in shared memory.
template <int N, int kParts>
struct Fetch {
  Shared<N, kParts>& shared;
  const Chunks& chunks;
  int64_t record0, step;  // of the segment's first chunk; from chunk to chunk

  __device__ void operand(int64_t c, int which) const {
    constexpr int kHalves = kParts * kChunk * N;
    const __half* from = chunks.operands + ((record0 + c * step) * 2 + which) * kHalves;
    __half* to = which ? shared.b : shared.c;
#pragma unroll 4
    for (int i = threadIdx.x * 8; i < kHalves; i += blockDim.x * 8)
      copy_async<16>(from + i, to + i);
  }
  __device__ void exponents(int64_t c) const {
    const int i = threadIdx.x * 4;
    if (i < 8)
      copy_async<16>(chunks.exponents + (record0 + c * step) * 8 + i, shared.exponents + i);
  }
  // The upper right quarter is not used.
  __device__ void scores(int64_t c) const {
    const float* from = chunks.scores + (record0 + c * step) * kChunk * kChunk;
    for (int i = threadIdx.x * 4; i < kChunk * kChunk; i += blockDim.x * 4)
      if (i % kChunk < kChunk / 2 || i / kChunk >= kChunk / 2)
        copy_async<16>(from + i, shared.scores + i);
  }
};

// y of a chunk as it leaves the accumulators, two rows at a time.
template <int N, int kParts>
__device__ __forceinline__ void write_y(const Warp<N, kParts>& w, const Rows& rows,
                                        const typename Warp<N, kParts>::Accumulator& acc,
                                        const int (&exponents)[2], int unit,
                                        const float (&skip)[2][2], int64_t t0, int count) {
  const Scan& scan = rows.scan;
  const int token = rows.j0 + w.lane / 4, row = w.lane % 4 * 2;
  if (!rows.in_fours) {
    w.take_y(acc, exponents, unit, skip, [&](int i, int r, float2 y) {
      *reinterpret_cast<float2*>(w.tile + (i * 8 + token) * w.stride + r * 8 + row) = y;
    });
    __syncwarp();
    rows.write(t0, count, w.tile, w.stride);
    return;
  }
  with_elements_at(scan.y, rows.offset(scan.y, t0 + token) + row, [&]<class T>(T* to) {
    const T* z = static_cast<const T*>(scan.z.data);
    if (z != nullptr) z += rows.offset(scan.z, t0 + token) + row;
    w.take_y(acc, exponents, unit, skip, [&](int i, int r, float2 v) {
      if (i * 8 + token >= count || rows.p0 + r * 8 + row >= scan.headdim) return;
      float y[2] = {v.x, v.y};
      if (z != nullptr) {
        float gate[2];
        load_pack(z + i * (8 * scan.z.stride[1]) + r * 8, gate);
        y[0] *= silu(gate[0]), y[1] *= silu(gate[1]);
      }
      store_pack(y, to + i * (8 * scan.y.stride[1]) + r * 8);
    });
  });
}

template <int N, int kParts, bool kOutput>
__global__ void __launch_bounds__(64 * max_row_tiles(N))
    walk(const __grid_constant__ Scan scan, const __grid_constant__ Cut cut,
         const __grid_constant__ Chunks chunks, const __grid_constant__ Segments segments,
         bool in_fours, bool states_in_fours) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared<N, kParts>*>(memory);
  static_assert(sizeof shared ==
                walk_shared_bytes({.row_tiles = 0, .dstate = N, .parts = kParts}) - 16 * kChunk);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, pair = warp / 2, half = warp % 2;
  const int stride = 16 * cut.row_tiles + 4;
  float* const tile = reinterpret_cast<float*>(memory + sizeof shared) + 16 * pair;

  // Which rows, tokens and chunks.
  const int head_tile = static_cast<int>(blockIdx.x % cut.tiles);
  const int h = static_cast<int>(blockIdx.x / cut.tiles % scan.nheads);
  const int64_t slot = blockIdx.x / cut.tiles / scan.nheads;
  const Slots slots{scan.sequences, cut.segment};
  const int64_t s = slots.owner_of(slot), first_slot = slots.first_of(s);
  const Span span = scan.sequences.at(s);
  const int64_t begin = span.begin + (slot - first_slot) * cut.segment;
  const int64_t end = min(begin + cut.segment, span.end);
  const bool first = slot == first_slot, last = end == span.end;
  if (slot < first_slot || (begin >= end && !first) || (last && !kOutput)) {
    // So that this kernel does not end before those it comes after.
    wait_for_kernels_before();
    return;
  }
  const int chunk_count = static_cast<int>((end - begin + kChunk - 1) / kChunk);
  const int g = h / (scan.nheads / scan.ngroups);
  const Fetch<N, kParts> fetch{
      shared, chunks,
      (Slots{scan.sequences, kChunk}.first_of(s) + (begin - span.begin) / kChunk) * scan.ngroups +
          g,
      scan.ngroups};
  const auto tokens_of = [&](int c) {
    return static_cast<int>(min(end - begin - int64_t{c} * kChunk, int64_t{kChunk}));
  };

  const double rate = decay_rate(scan, h) * 1.4426950408889634;
  Warp<N, kParts> w{shared, tile, stride, pair, half, lane};
  Rows rows{scan, span.row,         h, (head_tile * cut.row_tiles + pair) * 16, in_fours,
            lane, half * kChunk / 2};
  if (chunk_count > 0) {
    rows.fetch(begin, tokens_of(0));
    if (warp == 0)
      make_times(scan, rate, read_steps(scan, span.row, begin, tokens_of(0), h), tokens_of(0),
                 shared.times[0]);
  }

  // The state before the segment.
  const StateRows states{scan, rows.p0, lane, states_in_fours, tile + half * 32 * stride, stride};
  const auto fragment = [&](float* base, int64_t owner) {
    const int64_t tiles =
        ((owner * scan.nheads + h) * cut.tiles + head_tile) * cut.row_tiles + pair;
    return base + (tiles * 2 + half) * (N / 4) * 32 + lane;
  };
#pragma unroll
  for (int i = 0; i < N / 4; ++i) w.state[i / 4][i % 4] = 0;
  // Initial states are read once: final ones may be written to the same memory.
  if (const Tensor& from = scan.initial_states; first && from.data && !(kOutput && !last))
    for (int q = 0; q < N / 64; ++q) {
      states.read(from, s * from.stride[0] + h * from.stride[1], 2, half * (N / 2) + q * 32);
#pragma unroll
      for (int i = 0; i < N / 4; ++i)
        if (i / 16 == q) w.state[i / 4][i % 4] = states.at(i / 4, i % 4);
    }
  w.meet();
  if (chunk_count > 0) rows.put(begin, tokens_of(0), tile, stride);
  wait_for_kernels_before();
  let_next_kernel_start();
  if (chunk_count > 0) {
    fetch.exponents(0);
    if constexpr (kOutput) {
      fetch.operand(0, 0);
      commit_copies();
      fetch.scores(0);
    }
    commit_copies();
    fetch.operand(0, 1);
    commit_copies();
  }
  if (!kOutput && first) {
    float* to = fragment(segments.initial, s);
#pragma unroll
    for (int i = 0; i < N / 4; ++i) to[i * 32] = w.state[i / 4][i % 4];
  }
  if (kOutput && first && !last) {
    const float* from = fragment(segments.initial, s);
#pragma unroll
    for (int i = 0; i < N / 4; ++i) w.state[i / 4][i % 4] = from[i * 32];
  }
  if (kOutput && slot > first_slot) {
    // The state of the next segment is on its way while this one's is added.
    float next[N / 4];
    const auto ask = [&](int64_t k) {
      const float* from = fragment(segments.states, k);
#pragma unroll
      for (int i = 0; i < N / 4; ++i) next[i] = from[i * 32];
    };
    ask(first_slot);
    for (int64_t k = first_slot; k < slot; ++k) {
      const float decay = k == first_slot ? 0.0f : exp2_exact(segments.decays[k * scan.nheads + h]);
#pragma unroll
      for (int i = 0; i < N / 4; ++i)
        w.state[i / 4][i % 4] = fmaf(w.state[i / 4][i % 4], decay, next[i]);
      if (k + 1 < slot) ask(k + 1);
    }
  }

  float skip[2][2];  // D
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int p = rows.p0 + i / 2 * 8 + lane % 4 * 2 + i % 2;
    skip[i / 2][i % 2] = kOutput && p < scan.headdim ? skip_of(scan, h, p) : 0.0f;
  }
  int checkpoint = kOutput ? first_checkpoint(scan, begin) : 0;
  double total = 0;

  for (int c = 0; c < chunk_count; ++c) {
    const int64_t t0 = begin + int64_t{c} * kChunk;
    const bool more = c + 1 < chunk_count;
    const Times& times = shared.times[c % 2];
    // Addresses made from it are made anew in each chunk: kept, they would not fit the registers.
    asm volatile("" : "+r"(w.lane));
    wait_copies<kOutput ? 2 : 0>();
    __syncthreads();  // C, exponents, times and x are there
    const int b_exponent = shared.exponents[4];
    int x_exponent;
    if constexpr (kOutput) {
      const int c_exponents[2] = {shared.exponents[half * 2], shared.exponents[half * 2 + 1]};
      w.take_x(times);
      typename Warp<N, kParts>::Accumulator acc = {};
      const int s_exponent = w.from_state(acc);
      if (w.lane == 0) shared.state_exponents[warp] = s_exponent;
      wait_copies<1>();
      __syncthreads();  // scores are there
      make_mask(shared, times);
      wait_copies<0>();
      __syncthreads();  // M and B are there; nobody reads C and exponents any more
      if (more) fetch.operand(c + 1, 0), fetch.exponents(c + 1);
      commit_copies();
      x_exponent = w.settle_x();
      // Bring C S^T to the unit of M (delta x); x gives way where that would overflow.
      const int lower = min(shared.state_exponents[warp], shared.state_exponents[warp ^ 1]);
      x_exponent = min(x_exponent, lower - b_exponent + kScoreShift<N> + 40);
      const int unit = b_exponent + x_exponent - kScoreShift<N>;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float f =
            power_of_two(unit - s_exponent) * exp2_fast(times.lowest[i * 8 + lane / 4].x);
#pragma unroll
        for (int e = 0; e < 4; ++e) acc[i / 2][e / 2][i % 2 * 2 + e % 2] *= f;
      }
      w.from_chunk(acc, x_exponent);
      w.adjust(acc, times);
      write_y(w, rows, acc, c_exponents, unit, skip, t0, tokens_of(c));
      for (; checkpoint < scan.ncheckpoints; ++checkpoint) {
        const int64_t at = token_of(scan.checkpoint_tokens, checkpoint) - t0;
        if (at >= tokens_of(c)) break;
        if (at < 0) continue;
        const Tensor& to = scan.checkpoint_states;
        const int64_t offset =
            span.row * to.stride[0] + checkpoint * to.stride[1] + h * to.stride[2];
        w.weigh_x(times, static_cast<int>(at), x_exponent);
        w.advance(times, static_cast<int>(at), x_exponent, b_exponent, [&](int t, int i, float v) {
          if (t == 0 && i == 0) w.meet();  // the operands in the tile have been read
          states.at(t, i) = w.any_bad && w.bad[i / 2] <= at ? NAN : v;
          if (t % 4 == 3 && i == 3) states.write(to, offset, 3, half * (N / 2) + t / 4 * 32);
        });
      }
    }
    if constexpr (!kOutput) {
      w.take_x(times);
      w.meet();
      x_exponent = w.settle_x();
    }
    if (more && warp == c % (2 * cut.row_tiles))
      make_times(scan, rate, read_steps(scan, span.row, t0 + kChunk, tokens_of(c + 1), h),
                 tokens_of(c + 1), shared.times[(c + 1) % 2]);
    w.weigh_x(times, kChunk - 1, x_exponent);
    if (more) rows.fetch(t0 + kChunk, tokens_of(c + 1));
    w.advance(times, kChunk - 1, x_exponent, b_exponent,
              [&](int t, int i, float v) { w.state[t][i] = v; });
    if (w.any_bad)
#pragma unroll
      for (int i = 0; i < N / 4; ++i)
        if (w.bad[i % 4 / 2] < kChunk) w.state[i / 4][i % 4] = NAN;
    if (!kOutput) total += times.sum_at(kChunk - 1);
    w.meet();
    if (more) rows.put(t0 + kChunk, tokens_of(c + 1), tile, stride);
    __syncthreads();  // nobody reads M and B any more
    if (more) {
      if constexpr (kOutput)
        fetch.scores(c + 1);
      else
        fetch.exponents(c + 1);
      commit_copies();
      fetch.operand(c + 1, 1);
    }
    commit_copies();
  }

  if (!kOutput) {
    float* to = fragment(segments.states, slot);
#pragma unroll
    for (int i = 0; i < N / 4; ++i) to[i * 32] = w.state[i / 4][i % 4];
    if (threadIdx.x == 0 && head_tile == 0) segments.decays[slot * scan.nheads + h] = total;
  } else if (const Tensor& to = scan.final_states; last && to.data) {
    w.meet();
    for (int q = 0; q < N / 64; ++q) {
#pragma unroll
      for (int i = 0; i < N / 4; ++i)
        if (i / 16 == q) states.at(i / 4, i % 4) = w.state[i / 4][i % 4];
      states.write(to, s * to.stride[0] + h * to.stride[1], 2, half * (N / 2) + q * 32);
    }
  }
}

}  // namespace hiss::cuda::ssd_chunk_scan
