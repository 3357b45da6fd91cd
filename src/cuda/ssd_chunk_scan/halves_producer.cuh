// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/ssd_chunk_scan/halves.cuh"

// The producing warps: one starts the bulk copies, others turn dt into decays; and the warpgroup
// that makes weights.
namespace hiss::cuda::ssd {

// One thread: what each chunk of the segment needs.
template <class S, bool kOutputs>
__device__ void copy_chunks(const HalvesScan& k, const Place& p, const Chain& chain,
                            const HalvesMemory<S>& m) {
  const int x0 = p.group * p.heads_per_group * k.base.headdim + kBlockRows * p.block;
  Ring<S::kOperands> operand;
  Ring<S::kRowStages> row;
  const auto copy_operand = [&](int64_t record, int which) {
    TransferBarrier& full = m.barriers.operand_full[operand.at];
    m.barriers.operand_empty[operand.at].wait(operand.phase ^ 1);
    full.arrive_expecting(S::kOperand);
    load_bytes(m.operand(operand.at), k.chunks.operands + (record * 2 + which) * (S::kOperand / 2),
               S::kOperand, &full);
    operand.advance();
  };
  for (int chunk = 0; chunk < chain.count; ++chunk, row.advance()) {
    const int64_t record = chain.record + chunk * chain.step;
    const auto t = static_cast<int>(chain.begin + int64_t{chunk} * kChunk);
    TransferBarrier& full = m.barriers.row_full[row.at];
    m.barriers.row_empty[row.at].wait(row.phase ^ 1);
    full.arrive_expecting(4 * kTile + 32);
    for (int i = 0; i < 4; ++i)
      load_tile(m.row_stage(row.at) + i * kTile, &k.base.x, &full, x0 + 32 * i, t,
                static_cast<int>(p.row));
    if (chunk == 0) wait_for_previous_launch();
    load_bytes(m.row_stage(row.at) + S::kExponents, k.chunks.exponents + record * 8, 32, &full);
    if constexpr (kOutputs) copy_operand(record, 0);
    copy_operand(record, 1);
  }
  if (chain.count == 0) wait_for_previous_launch();
}

// One warp: the decays of one head of the block.
template <class S>
__device__ void make_head_chunks(const HalvesScan& k, const Place& p, const Chain& chain,
                                 const HalvesMemory<S>& m, int slot, int lane) {
  const int head = p.group * p.heads_per_group + p.first_head + min(slot, p.slots - 1);
  const double rate = ssd_chunk_scan::decay_rate(k.scan, head) * 1.4426950408889634;
  const auto read = [&](int chunk) {
    return ssd_chunk_scan::read_steps(k.scan, p.row, chain.begin + int64_t{chunk} * kChunk,
                                      chunk < chain.count ? chain.length(chunk) : 0, head);
  };
  Ring<S::kRowStages> row;
  ssd_chunk_scan::Steps next = read(0);
  for (int chunk = 0; chunk < chain.count; ++chunk, row.advance()) {
    const ssd_chunk_scan::Steps steps = next;
    next = read(chunk + 1);
    HeadChunk& out = m.head_chunk(row.at, slot);
    m.barriers.row_empty[row.at].wait(row.phase ^ 1);
    make_times(k.scan, rate, steps, chain.length(chunk), out.times);
    __syncwarp();
    const Times& times = out.times;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int j = lane + 32 * i;
      out.from_start[j] = exp2_fast(times.lowest[j].x);
      out.to_end[j] = Times::power_of_difference(times.lowest[kChunk - 1], times.sum[j]);
    }
    const double sum = times.sum_at(kChunk - 1);
    out.decay = ssd_chunk_scan::exp2_exact(sum);
    out.growth =
        times.decays ? 1.0f : ssd_chunk_scan::exp2_exact(sum - times.lowest_at(kChunk - 1));
    __syncwarp();
    if (lane == 0) m.barriers.row_full[row.at].arrive();
  }
}

// A warpgroup: the weights of tokens j <= i in token i, C_i B_j decayed, as two halves. A thread
// makes pieces of eight columns; those above the diagonal are zero from the start.
template <class S>
__device__ void weigh_tokens(const HalvesScan& k, const Place& p, const Chain& chain,
                             const HalvesMemory<S>& m) {
  constexpr int kPieces = 3;  // of 320 on and below the diagonal's blocks of 16, in 128 threads
  const int thread = threadIdx.x % 128;
  int row[kPieces], piece[kPieces];
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    const int q = thread + 128 * i;
    const int block = q < 32 ? 0 : q < 96 ? 1 : q < 192 ? 2 : 3;
    const int within = q - 16 * block * (block + 1);
    row[i] = 16 * block + within % 16;
    piece[i] = within / 16;
  }
  const int pieces = thread < 64 ? 3 : 2;
  float scores[kPieces][8];
  const auto read = [&](int chunk) {
    const float* from = k.chunks.scores + (chain.record + chunk * chain.step) * kChunk * kChunk;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      if (i >= pieces) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float4 v = *reinterpret_cast<const float4*>(
            from + row[i] * kChunk + (((2 * piece[i] + half) ^ (row[i] & 7)) << 2));
        scores[i][4 * half] = v.x, scores[i][4 * half + 1] = v.y;
        scores[i][4 * half + 2] = v.z, scores[i][4 * half + 3] = v.w;
      }
    }
  };
  wait_for_previous_launch();
  if (chain.count > 0) read(0);
  Ring<S::kRowStages> stage;
  for (int chunk = 0; chunk < chain.count; ++chunk, stage.advance()) {
    m.barriers.row_full[stage.at].wait(stage.phase);
    m.barriers.weights_empty.wait((chunk & 1) ^ 1);
    for (int slot = 0; slot < p.slots; ++slot) {
      const Times& times = m.head_chunk(stage.at, slot).times;
      char* const to = m.memory + slot * 2 * kTile;
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        if (i >= pieces) continue;
        const float2 lowest = times.lowest[row[i]];
        const float4* const sums = reinterpret_cast<const float4*>(times.sum + 8 * piece[i]);
        uint32_t high[4], low[4];
#pragma unroll
        for (int e = 0; e < 8; e += 2) {
          const float4 sum = sums[e / 2];
          const int column = 8 * piece[i] + e;
          const float w0 = scores[i][e] * exp2_flushed(lowest.x - sum.x + (lowest.y - sum.y));
          const float w1 = scores[i][e + 1] * exp2_flushed(lowest.x - sum.z + (lowest.y - sum.w));
          uint32_t two[2];
          split<2>(column <= row[i] ? w0 : 0.0f, column < row[i] ? w1 : 0.0f, two);
          high[e / 2] = two[0], low[e / 2] = two[1];
        }
        const uint32_t at = swizzled(row[i], piece[i]);
        *reinterpret_cast<uint4*>(to + at) = {high[0], high[1], high[2], high[3]};
        *reinterpret_cast<uint4*>(to + kTile + at) = {low[0], low[1], low[2], low[3]};
      }
    }
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      m.barriers.weights_full.arrive();
      m.barriers.row_empty[stage.at].arrive();
    }
    if (chunk + 1 < chain.count) read(chunk + 1);
  }
}

}  // namespace hiss::cuda::ssd
