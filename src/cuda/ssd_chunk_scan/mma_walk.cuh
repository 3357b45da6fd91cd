// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/mma_rows.cuh"
#include "cuda/ssd_chunk_scan/mma_warp.cuh"

// The walk over the chunks of a segment. A block has a tile of rows of one head, a warp 16 of them.
// Its warps share C, B, and the scores with mask and decay, M:
//
//   y = growth (2^lowest C S^T + M (delta x)),  M[i,j] = C_i B_j 2^(lowest[i] - sum[j]), j <= i
//   S = 2^sum S + (weight delta x)^T B
//
// C and the scores of the next chunk are on their way while this one's M and B are used, B while C is.
namespace hiss::cuda::ssd_chunk_scan {

template <int N, int kParts>
size_t walk_shared_bytes(int warps) {
  return sizeof(Shared<N, kParts>) + sizeof(float) * kChunk * static_cast<size_t>(16 * warps + 4);
}

// Scores become M: mask, decay, split. By the whole block.
template <int N, int kParts>
__device__ void make_mask(Shared<N, kParts>& shared, const Times& times) {
  for (int i = threadIdx.x; i < kChunk * kChunk / 8; i += blockDim.x) {
    const int row = i / (kChunk / 8), piece = i % (kChunk / 8), j0 = piece * 8;
    if (j0 > (row | 15)) continue;
    float4* const first = reinterpret_cast<float4*>(shared.scores) + swizzled(row, 2 * piece, kChunk / 4);
    float4* const second =
        reinterpret_cast<float4*>(shared.scores) + swizzled(row, 2 * piece + 1, kChunk / 4);
    float m[8];
    load_pack(reinterpret_cast<const float*>(first), *reinterpret_cast<float(*)[4]>(m));
    load_pack(reinterpret_cast<const float*>(second), *reinterpret_cast<float(*)[4]>(m + 4));
    uint32_t parts[4][kParts];
#pragma unroll
    for (int e = 0; e < 8; ++e) m[e] = j0 + e <= row ? m[e] * times.weight(row, j0 + e) : 0.0f;
#pragma unroll
    for (int e = 0; e < 4; ++e) split<kParts>(m[2 * e], m[2 * e + 1], parts[e]);
    *reinterpret_cast<uint4*>(first) = make_uint4(parts[0][0], parts[1][0], parts[2][0], parts[3][0]);
    if constexpr (kParts == 2)
      *reinterpret_cast<uint4*>(second) =
          make_uint4(parts[0][1], parts[1][1], parts[2][1], parts[3][1]);
  }
}

// The pieces of a segment's chunks, from what `prepare` left to shared memory.
template <int N, int kParts>
struct Fetch {
  Shared<N, kParts>& shared;
  const Chunks& chunks;
  int64_t record0, step;  // of the segment's first chunk; from chunk to chunk

  __device__ void operand(int64_t c, int which) const {
    constexpr int kPieces = N / 8;
    const __half* from = chunks.operands + ((record0 + c * step) * 2 + which) * kParts * kChunk * N;
    __half* to = which ? shared.b : shared.c;
    for (int i = threadIdx.x; i < kParts * kChunk * kPieces; i += blockDim.x)
      copy_async(to + swizzled(i / kPieces, i % kPieces, kPieces) * 8, from + i * 8);
  }
  __device__ void exponents(int64_t c) const {
    if (threadIdx.x < 2)
      copy_async(shared.exponents + threadIdx.x * 4,
                 chunks.exponents + (record0 + c * step) * 8 + threadIdx.x * 4);
  }
  __device__ void scores(int64_t c) const {
    const float* from = chunks.scores + (record0 + c * step) * kChunk * kChunk;
    for (int i = threadIdx.x; i < kChunk * kChunk / 4; i += blockDim.x)
      if (i % (kChunk / 4) * 4 <= (i / (kChunk / 4) | 15))
        copy_async(shared.scores + swizzled(i / (kChunk / 4), i % (kChunk / 4), kChunk / 4) * 4,
                   from + i * 4);
  }
};

// Where one warp's states lie: in tensors of states, and as fragments in the workspace.
struct Place {
  int64_t s;
  int h, p0, lane;
  int headdim, dstate;

  // f(t, i, element) for the elements inside.
  template <int N, class F>
  __device__ void for_each(const Tensor& m, F&& f) const {
    const int64_t offset = s * m.stride[0] + h * m.stride[1];
    with_elements_at(m, offset, [&]<class T>(T* head) {
#pragma unroll
      for (int i = 0; i < N / 2; ++i) {
        const int p = p0 + i % 4 / 2 * 8 + lane / 4, n = i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (p < headdim && n < dstate) f(i / 4, i % 4, head[p * m.stride[2] + n * m.stride[3]]);
      }
    });
  }
};

template <int N, int kParts, bool kOutput>
__global__ void __launch_bounds__(kMaxWarps * 32, 1)
    walk(const __grid_constant__ Scan scan, const __grid_constant__ Cut cut,
         const __grid_constant__ Chunks chunks, const __grid_constant__ Segments segments,
         bool in_fours) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared<N, kParts>*>(memory);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int stride = 16 * cut.warps + 4;
  float* const tile = reinterpret_cast<float*>(memory + sizeof shared) + 16 * warp;

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
  if (slot < first_slot || (begin >= end && !first) || (last && !kOutput)) return;
  const int chunk_count = static_cast<int>((end - begin + kChunk - 1) / kChunk);
  const int g = h / (scan.nheads / scan.ngroups);
  const Fetch<N, kParts> fetch{
      shared, chunks,
      (Slots{scan.sequences, kChunk}.first_of(s) + (begin - span.begin) / kChunk) * scan.ngroups + g,
      scan.ngroups};
  const auto tokens_of = [&](int c) {
    return static_cast<int>(min(end - begin - int64_t{c} * kChunk, int64_t{kChunk}));
  };

  const double rate = decay_rate(scan, h) * 1.4426950408889634;
  Warp<N, kParts> w{shared, lane};
  Rows rows{scan, span.row, h, (head_tile * cut.warps + warp) * 16, in_fours, lane};
  if (chunk_count > 0) {
    fetch.exponents(0);
    if constexpr (kOutput) fetch.operand(0, 0), fetch.scores(0);
    copy_async_commit();
    fetch.operand(0, 1);
    copy_async_commit();
    rows.fetch(begin, tokens_of(0));
    if (warp == 0) make_times(scan, rate, span.row, begin, tokens_of(0), h, shared.times[0]);
  }

  // The state before the segment.
  const Place place{s, h, rows.p0, lane, scan.headdim, scan.dstate};
  const auto fragment = [&](float* base, int64_t owner) {
    return base + (((owner * scan.nheads + h) * cut.tiles + head_tile) * cut.warps + warp) * (N / 2) * 32 +
           lane;
  };
#pragma unroll
  for (int i = 0; i < N / 2; ++i) w.state[i / 4][i % 4] = 0;
  // Initial states are read once: final ones may be written to the same memory.
  if (const Tensor& from = scan.initial_states; first && from.data && !(kOutput && !last))
    place.for_each<N>(from, [&](int t, int i, auto& v) { w.state[t][i] = to_float(v); });
  if (!kOutput && first) {
    float* to = fragment(segments.initial, s);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) to[i * 32] = w.state[i / 4][i % 4];
  }
  if (kOutput && first && !last) {
    const float* from = fragment(segments.initial, s);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) w.state[i / 4][i % 4] = from[i * 32];
  }
  for (int64_t k = first_slot; kOutput && k < slot; ++k) {
    const float* from = fragment(segments.states, k);
    const float decay =
        k == first_slot ? 0.0f : exp2_exact(segments.decays[k * scan.nheads + h]);
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
      w.state[i / 4][i % 4] = fmaf(k == first_slot ? 0.0f : w.state[i / 4][i % 4], decay, from[i * 32]);
  }

  float skip[2][2];  // D
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int p = rows.p0 + i / 2 * 8 + lane % 4 * 2 + i % 2;
    skip[i / 2][i % 2] = kOutput && p < scan.headdim ? skip_of(scan, h, p) : 0.0f;
  }
  int checkpoint = kOutput ? first_checkpoint(scan, begin) : 0;
  double total = 0;
  if (chunk_count > 0) rows.put(begin, tokens_of(0), tile, stride);

  for (int c = 0; c < chunk_count; ++c) {
    const int64_t t0 = begin + int64_t{c} * kChunk;
    const bool more = c + 1 < chunk_count;
    const Times& times = shared.times[c % 2];
    copy_async_wait<kOutput ? 1 : 0>();
    __syncthreads();  // C, scores, exponents, times and x are there
    const int b_exponent = shared.exponents[4];
    int x_exponent = w.take_x(tile, stride, times);
    if constexpr (kOutput) {
      const int c_exponents[4] = {shared.exponents[0], shared.exponents[1], shared.exponents[2],
                                  shared.exponents[3]};
      make_mask(shared, times);
      typename Warp<N, kParts>::Accumulator acc = {};
      const int s_exponent = w.from_state(acc);
      // Bring C S^T to the unit of M (delta x); x gives way where that would overflow.
      x_exponent = min(x_exponent, s_exponent - b_exponent + kScoreShift<N> + 40);
      const int unit = b_exponent + x_exponent - kScoreShift<N>;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float f = power_of_two(unit - s_exponent) *
                        exp2_fast(times.lowest[0][i / 2 * 16 + i % 2 * 8 + lane / 4]);
#pragma unroll
        for (int e = 0; e < 4; ++e) acc[i / 2][e / 2][i % 2 * 2 + e % 2] *= f;
      }
      copy_async_wait<0>();
      __syncthreads();  // M and B are there; nobody reads C and exponents any more
      if (more) fetch.operand(c + 1, 0), fetch.exponents(c + 1);
      w.from_chunk(acc, x_exponent);
      w.put_y(acc, times, c_exponents, unit, skip, tile, stride);
      __syncwarp();
      rows.write(t0, tokens_of(c), tile, stride);
      for (; checkpoint < scan.ncheckpoints; ++checkpoint) {
        const int64_t at = token_of(scan.checkpoint_tokens, checkpoint) - t0;
        if (at >= tokens_of(c)) break;
        if (at < 0) continue;
        const Tensor& to = scan.checkpoint_states;
        const int64_t offset =
            span.row * to.stride[0] + checkpoint * to.stride[1] + h * to.stride[2];
        w.advance(times, static_cast<int>(at), x_exponent, b_exponent, [&](int t, int i, float v) {
          const int p = rows.p0 + i / 2 * 8 + lane / 4, n = t * 8 + lane % 4 * 2 + i % 2;
          if (w.any_bad && w.bad[i / 2] <= at) v = NAN;
          if (p < scan.headdim && n < scan.dstate)
            store(to.data, to.dtype, offset + p * to.stride[3] + n * to.stride[4], v);
        });
      }
    }
    if (more) rows.fetch(t0 + kChunk, tokens_of(c + 1));
    if (more && warp == c % cut.warps)
      make_times(scan, rate, span.row, t0 + kChunk, tokens_of(c + 1), h, shared.times[(c + 1) % 2]);
    w.advance(times, kChunk - 1, x_exponent, b_exponent,
              [&](int t, int i, float v) { w.state[t][i] = v; });
    if (w.any_bad)
#pragma unroll
      for (int i = 0; i < N / 2; ++i)
        if (w.bad[i % 4 / 2] < kChunk) w.state[i / 4][i % 4] = NAN;
    if (!kOutput) total += times.sum_at(kChunk - 1);
    if (more) rows.put(t0 + kChunk, tokens_of(c + 1), tile, stride);
    __syncthreads();  // nobody reads M and B any more
    if (more) {
      fetch.exponents(c + 1);
      if constexpr (kOutput) fetch.operand(c + 1, 0), fetch.scores(c + 1);
      copy_async_commit();
      fetch.operand(c + 1, 1);
    }
    copy_async_commit();
  }

  if (!kOutput) {
    float* to = fragment(segments.states, slot);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) to[i * 32] = w.state[i / 4][i % 4];
    if (threadIdx.x == 0 && head_tile == 0) segments.decays[slot * scan.nheads + h] = total;
  } else if (const Tensor& to = scan.final_states; last && to.data) {
    place.for_each<N>(to, [&]<class T>(int t, int i, T& v) { v = from_float<T>(w.state[t][i]); });
  }
}

}  // namespace hiss::cuda::ssd_chunk_scan
