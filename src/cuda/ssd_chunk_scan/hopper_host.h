// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>

#include "cuda/launch.h"
#include "cuda/ssd_chunk_scan/hopper.h"
#include "cuda/tile/tensor_map.h"

// The host's half that Hopper's rows share: how many blocks, tensors as maps, arguments.
namespace hiss::cuda::ssd {

inline int64_t blocks_per_group(const SsdChunkScan::Problem& p) {
  return ceil_div(p.nheads / p.ngroups * p.headdim, kBlockRows);
}

// Blocks of one segment.
inline int64_t units(const SsdChunkScan::Problem& p) {
  return p.nseq * p.ngroups * blocks_per_group(p);
}

// What a row of the fast class says whose states have this type and are padded to padded_dstate.
inline Decline fast_row_declines(const SsdChunkScan::Problem& p, const Machine& machine,
                                 DType state_dtype, int64_t padded_dstate) {
  if (machine.cuda_sm != 90) return why::kDevice;
  if (p.precision != Precision::kFast) return why::kPrecision;
  if (p.dtype == DType::kF32) return why::kDtype;
  if (p.state_dtype != state_dtype) return why::kStateDtype;
  if (!p.dense || !p.blocks_of_16) return why::kLayout;
  if (p.dstate < 8 || p.dstate > 256 || p.dstate % 8 != 0) return why::kDstate;
  if (p.headdim < 32 || p.headdim % 16 != 0) return why::kHeaddim;
  if (!fits(padded_dstate, p.headdim)) return why::kHeaddim;
  // Fewer tokens of a sequence than this are a walk, not a chunk.
  if (p.seqlen < 8 * (p.packed ? p.nseq : 1)) return why::kShort;
  constexpr int64_t kMost = int64_t{1} << 31;
  if (p.seqlen >= kMost || units(p) * kMaxSegments >= kMost || p.nheads * p.headdim >= kMost)
    return why::kLong;
  return {};
}

inline Work work_of(const SsdChunkScan::Problem& p) {
  const int64_t tokens = ceil_div(p.seqlen, p.packed ? std::max<int64_t>(p.nseq, 1) : 1);
  return {.units = units(p), .chunks = ceil_div(tokens, kChunk)};
}

// The states that segments hand on.
inline size_t exchange_bytes(const SsdChunkScan::Problem& p, int segments, int64_t padded_dstate) {
  if (segments == 1) return 0;
  return static_cast<size_t>(units(p) * segments * 2 * exchange_floats(padded_dstate)) *
         sizeof(float);
}

// Makes `map` copy boxes of 64 tokens by 128 bytes of `view`: over (batch, seqlen, groups,
// elements), or with `joined` over (batch, seqlen, groups * elements).
inline bool encode(CUtensorMap& map, const ConstTensorView& view, bool joined) {
  const TensorMapEncoder encoder = tensor_map_encoder();
  if (encoder == nullptr) return false;
  const auto bytes = [&](int axis) {
    // Of an axis with one element the stride is not used, but checked.
    const int64_t stride = view.shape[axis] > 1 ? view.stride[axis] : 64;
    return static_cast<cuuint64_t>(stride * size_of(view.dtype));
  };
  const auto size = [&](int axis) { return static_cast<cuuint64_t>(view.shape[axis]); };
  cuuint64_t sizes[4] = {size(3), size(2), size(1), size(0)};
  cuuint64_t strides[3] = {bytes(2), bytes(1), bytes(0)};
  cuuint32_t box[4] = {static_cast<cuuint32_t>(128 / size_of(view.dtype)), 1, kChunk, 1},
             steps[4] = {1, 1, 1, 1};
  cuuint32_t rank = 4;
  if (joined) {
    rank = 3;
    sizes[0] = size(3) * size(2), sizes[1] = size(1), sizes[2] = size(0);
    strides[0] = bytes(1), strides[1] = bytes(0);
    box[1] = box[2], box[2] = 1;
  }
  return encoder(&map, tensor_map_type(view.dtype), rank, const_cast<void*>(view.data), sizes,
                 strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <int n>
void copy_strides(const ConstTensorView& view, int64_t (&to)[n]) {
  std::copy_n(view.stride.begin(), n, to);
}

inline HopperScan scan_of(const SsdChunkScan::Args& args, const SsdChunkScan::Problem& p,
                          int segments) {
  HopperScan scan{};
  scan.dt = args.dt.data;
  scan.dt_is_f32 = p.dt_dtype == DType::kF32;
  copy_strides(args.dt, scan.dt_stride);
  scan.A = args.A.as<float>(), scan.A_stride = args.A.stride[0];
  scan.D = args.D.as<float>();
  scan.D_stride[0] = args.D.stride[0], scan.D_stride[1] = p.d_has_headdim ? args.D.stride[1] : 0;
  scan.dt_bias = args.dt_bias.as<float>(), scan.dt_bias_stride = args.dt_bias.stride[0];
  scan.y_data = args.y.data;
  copy_strides(args.y, scan.y_stride);
  scan.initial = args.initial_states.as<float>();
  copy_strides(args.initial_states, scan.initial_stride);
  scan.final = args.final_states.as<float>();
  copy_strides(args.final_states, scan.final_stride);
  scan.checkpoints = args.checkpoint_states.as<float>();
  copy_strides(args.checkpoint_states, scan.checkpoint_stride);
  scan.sequences = Sequences::of(args.cu_seqlens, p.batch, p.seqlen);
  scan.checkpoint_tokens = args.checkpoint_tokens.as<int64_t>();
  scan.checkpoint_token_stride = args.checkpoint_tokens.stride[0];
  scan.ncheckpoints = p.ncheckpoints;
  scan.dt_min = args.dt_min, scan.dt_max = args.dt_max;
  scan.nheads = static_cast<int>(p.nheads), scan.headdim = static_cast<int>(p.headdim);
  scan.dstate = static_cast<int>(p.dstate), scan.ngroups = static_cast<int>(p.ngroups);
  scan.blocks_per_group = static_cast<int>(blocks_per_group(p));
  scan.segments = segments, scan.units = units(p);
  scan.softplus = p.dt_softplus, scan.a_is_log = p.a_is_log;
  return scan;
}

// Whether a block that reads what another block has worked on may find its results.
inline bool is_in_place(const SsdChunkScan::Args& args) {
  return args.y.data == args.x.data ||
         (args.final_states.present() && args.final_states.data == args.initial_states.data);
}

// Whether the second-level cache holds B and C of a group, for blocks that are at different tokens.
inline bool is_cached(const SsdChunkScan::Problem& p) {
  return 4 * p.seqlen * p.dstate <= int64_t{8} << 20;
}

// Ranges instead of segments, where they cost less and can be: blocks walk tokens of others ahead.
inline Ranges ranges_of(const SsdChunkScan::Problem& p, int num_sms, const Costs& costs,
                        double cost, bool in_place) {
  if (p.packed || in_place || !is_cached(p)) return {};
  return choose_ranges(work_of(p), num_sms, costs, 0.97 * cost);
}
inline Ranges ranges_of(const SsdChunkScan::Args& args, const SsdChunkScan::Problem& p,
                        const Costs& costs, double cost) {
  return ranges_of(p, this_machine().num_sms, costs, cost, is_in_place(args));
}

}  // namespace hiss::cuda::ssd
