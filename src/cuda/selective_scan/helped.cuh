// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/launch.h"
#include "cuda/selective_scan/ahead.cuh"
#include "cuda/selective_scan/scan.cuh"

// The Mamba-1 scan of few channels: one warp of a block does nothing but take states on, two others
// make what it needs and finish what it leaves. Three warps, so that the scanning ones of the
// blocks on a multiprocessor are on different schedulers. docs/kernels/selective_scan_cuda.md.
namespace hiss::cuda::selective_scan {

inline constexpr int kHelpedThreads = 96;

// S, its threads those of one helping warp, and where things lie: four tiles of delta and delta u;
// two of the parts of sums; four of B and C as float where they are not; dt_bias and D; then for
// each helper kStages tiles of u, dt and z, and of B and C.
template <class S>
struct HelperShape : S {
  static_assert(S::kThreads == 32);
  static constexpr int kThreads = 32, kTiles = 4;
  static constexpr int kPartBytes = 4 * S::kTokens * S::kPartRow;
  static constexpr int kRateBytes = 4 * S::kTokens * S::kRateRow;
  static constexpr int sums_at(bool) { return kTiles * S::kStepBytes; }
  static constexpr int rates_at(bool) { return sums_at(true) + 2 * kPartBytes; }
  static constexpr int constants_at(bool whole, int element) {
    return rates_at(whole) + (element == 4 ? 0 : kTiles * kRateBytes);
  }
  static constexpr int stages_at(bool whole, int element) {
    return constants_at(whole, element) + 8 * S::kBlockChannels;
  }
  static constexpr int rate_stages_at(bool whole, int element) {
    return stages_at(whole, element) + 2 * S::kStages * 3 * S::kElements * element;
  }
  static constexpr int shared_bytes(bool whole, int element) {
    return rate_stages_at(whole, element) + 2 * S::kStages * S::kTokens * S::kRateRow * element;
  }
};

template <class V>
using HelperElements =
    Elements<typename V::T, HelperShape<typename V::S>, V::kAccess, true, true, true>;

// Tile k is scanned in turn k. Its helper, k % 2, prepares tile k + 2 meanwhile, and makes y of
// tile k and asks for tile k + 2 kStages in the turn after. Of tile k + 1, which is ready, the
// scanning warp reads the first two tokens in turn k.
template <class V>
__global__ void __launch_bounds__(kHelpedThreads, V::S::kBlocks)
    scan_helped(const __grid_constant__ ScanArgs p) {
  using H = HelperShape<typename V::S>;
  using S = typename V::S;
  using T = typename V::T;
  constexpr int kTokens = S::kTokens, kStages = S::kStages;
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const Place place(p, blockIdx.x, 1, S::kBlockChannels);
  const auto turn_ends = [] { asm volatile("bar.sync 1, %0;" ::"n"(kHelpedThreads) : "memory"); };
  const auto left_from = [&](int tile) { return min(place.length - tile * kTokens, kTokens); };
  const int tiles = (place.length + kTokens - 1) / kTokens;

  float* const constants = shared_at<float>(H::constants_at(true, sizeof(T)));
  for (int i = static_cast<int>(threadIdx.x); i < 2 * S::kBlockChannels; i += kHelpedThreads) {
    const int c = i % S::kBlockChannels;
    const bool is_d = i >= S::kBlockChannels;
    const float* from = is_d ? p.D : p.dt_bias;
    const bool real = c < place.channels && from != nullptr;
    constants[i] = real ? from[(place.first + c) * (is_d ? p.D_channel : p.bias_channel)] : 0.0f;
  }
  turn_ends();

  if (warp == 0) {
    ThreadStates<S> states;
    states.clear();
    states.load_rates(p, place, 0);
    if (p.initial.data != nullptr) states.load(p, place, 0, p.initial, place.s * p.initial.row);
    const int step_at = kept(4 * S::step_at(states.channel));
    const int part_at = kept(H::sums_at(true) + 4 * lane);
    const auto half = [](int tile) { return tile % H::kTiles * S::kStepBytes; };
    const auto rates_of = [&](int tile, int stage) {
      const int at = sizeof(T) == 4 ? H::rate_stages_at(true, 4) + (tile % 2 * kStages + stage) *
                                                                       S::kTokens * S::kRateRow * 4
                                    : H::rates_at(true) + tile % H::kTiles * H::kRateBytes;
      return at + 4 * states.state;
    };
    turn_ends();
    int stage = 0;
    Ahead<S> scan(states, step_at, rates_of(0, 0));
#pragma unroll 1
    for (int k = 0; k < tiles; ++k) {
      const int rate_at = rates_of(k, stage);
      if (k % 2 == 1) stage = stage + 1 == kStages ? 0 : stage + 1;
      scan.take_tile(step_at + half(k), rate_at, part_at + k % 2 * H::kPartBytes,
                     step_at + half(k + 1), rates_of(k + 1, stage));
      turn_ends();
    }
    if (p.final.data != nullptr) states.store(p, place, 0, p.final, place.s * p.final.row);
    return;
  }
  const int helper = warp - 1;
  HelperElements<V> elements(p, place, lane, helper);
  Rates<T, H, true, V::kAccess == Access::kAlongChannels> rates(p, place, lane, helper);
  const auto send = [&](int stage, int tile) {
    elements.send(helper * kStages + stage, left_from(tile));
    rates.send(helper * kStages + stage, 0, left_from(tile));
    rates.next_tile();
    copies_sent();
  };
  const auto prepare = [&](int stage, int tile) {
    if (tile >= tiles) return;
    elements.take_steps(helper * kStages + stage, left_from(tile),
                        tile % H::kTiles * S::kStepBytes);
    rates.take(helper * kStages + stage, tile % H::kTiles * H::kRateBytes);
  };
  const auto after = [](int stage) { return stage + 1 == kStages ? 0 : stage + 1; };
#pragma unroll
  for (int i = 0; i < kStages; ++i) send(i, helper + 2 * i);
  copies_wait<kStages - 1>();
  prepare(0, helper);
  turn_ends();
  int stage = 0;  // of the tile whose turn is next
  // Turns in pairs: the helper's tile is scanned in the first (helper 0) or the second (helper 1).
  if (helper == 1 && tiles > 0) turn_ends();
#pragma unroll 1
  for (int k = helper; k < tiles; k += 2, stage = after(stage)) {
    copies_wait<kStages - 2>();
    prepare(after(stage), k + 2);
    turn_ends();
    elements.store_output(helper * kStages + stage, left_from(k), helper * H::kPartBytes);
    send(stage, k + 2 * kStages);
    if (k + 1 < tiles) turn_ends();
  }
}

template <class V>
Status launch_helped(std::string_view name, ScanArgs args, cudaStream_t stream) {
  using S = typename V::S;
  using H = HelperShape<S>;
  if (args.dim == 0 || args.sequences.nseq == 0) return {};
  args.blocks_of_group = ceil_div(args.group_dim, S::kBlockChannels);
  const int64_t blocks = args.sequences.nseq * args.blocks_of_group * (args.dim / args.group_dim);
  HelperElements<V>::prepare(args);
  Rates<typename V::T, H, true, V::kAccess == Access::kAlongChannels>::prepare(args);
  for (auto* v : {&args.u, &args.dt, &args.z, &args.B, &args.C}) v->tile *= 2;
  args.y.tile *= 2;
  constexpr int kBytes = H::shared_bytes(true, sizeof(typename V::T));
  HISS_RETURN_IF_ERROR(allow_shared(name, scan_helped<V>, kBytes));
  scan_helped<V><<<static_cast<unsigned>(blocks), kHelpedThreads, kBytes, stream>>>(args);
  return launched(name);
}

}  // namespace hiss::cuda::selective_scan
