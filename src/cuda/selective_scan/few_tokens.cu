// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Mamba-1 scan of a few tokens: a thread takes a channel with all of its states.
//
// With so few tokens a pipeline is never filled, and what counts is how soon the loads are out: all
// of a channel's elements are asked for before the first is used, while A and the states are on
// their way too; B and C of a sequence come through shared memory of the warp. A launch begins
// while the one before it ends. Bound by memory where rows are many, by its latency where they are
// few: docs/kernels/selective_scan_cuda.md.
//
// Serves strict: the arithmetic of a token is that of lanes_over_state with two lanes a channel.

#include <algorithm>

#include "cuda/launch.h"
#include "cuda/selective_scan/scan_args.cuh"
#include "cuda/selective_scan/shape.cuh"
#include "cuda/selective_scan/step.cuh"
#include "cuda/tile/overlap.cuh"

namespace hiss::cuda {
namespace {

using namespace selective_scan;  // the pieces this file is made of

constexpr std::string_view kName = "selective_scan/cuda.sm80.few_tokens";
constexpr int kWarps = 4;
constexpr int64_t kMostTokens = 4;

// Which tensors have their 16 states in four aligned vectors.
struct InVectors {
  bool A, initial, final;
};

__device__ __forceinline__ void load_states(const float* from, int64_t stride, bool vectors,
                                            float (&to)[kPassStates]) {
  if (vectors) {
    read(from, to);
    return;
  }
#pragma unroll
  for (int n = 0; n < kPassStates; ++n) to[n] = from[n * stride];
}

// kTokens: the most that a sequence has here.
template <class T, int kTokens>
__global__ void __launch_bounds__(32 * kWarps)
    scan_few(const __grid_constant__ ScanArgs p, const InVectors in_vectors) {
  __shared__ __align__(16) float shared[kWarps][kTokens][2 * kPassStates];
  let_next_kernel_start();
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int64_t index = int64_t{blockIdx.x} * kWarps + warp;
  const int64_t group = p.dim == p.group_dim ? 0 : index / p.blocks_of_group;
  const int64_t in_group = (index - group * p.blocks_of_group) * 32 + lane,
                d = group * p.group_dim + in_group;
  if (group * p.group_dim >= p.dim) return;
  const bool real = in_group < p.group_dim;
  const int tokens = static_cast<int>(p.sequences.seqlen);
  wait_for_kernels_before();

  float A[kPassStates] = {}, D = 0, bias = 0;
  if (real) {
    load_states(p.A + d * p.A_channel, p.A_state, in_vectors.A, A);
#pragma unroll
    for (int n = 0; n < kPassStates; ++n) A[n] = (p.A_is_log ? -expf(A[n]) : A[n]) * kLog2E;
    if (p.D != nullptr) D = p.D[d * p.D_channel];
    if (p.dt_bias != nullptr) bias = p.dt_bias[d * p.bias_channel];
  }
  for (int64_t s = blockIdx.y; s < p.sequences.nseq; s += gridDim.y) {
    const auto token_of = [&](int t) -> int64_t { return p.reverse ? tokens - 1 - t : t; };
    const auto element = [&](const auto& v, int t) {
      return static_cast<const T*>(v.data) + s * v.row + token_of(t) * v.token + d * v.channel;
    };
    float u[kTokens] = {}, dt[kTokens] = {}, z[kTokens] = {};
    const bool of_b = lane < kPassStates;
    const Strided<const void>& rate = of_b ? p.B : p.C;
    const T* from = static_cast<const T*>(rate.data) + s * rate.row + group * rate.group +
                    lane % kPassStates * rate.channel;
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      if (t >= tokens) break;
      if (real) {
        u[t] = to_float(*element(p.u, t)), dt[t] = to_float(*element(p.dt, t));
        if (p.z.data != nullptr) z[t] = to_float(*element(p.z, t));
      }
      shared[warp][t][lane] = to_float(from[token_of(t) * rate.token]);
    }
    float h[kPassStates] = {};
    if (real && p.initial.data != nullptr)
      load_states(p.initial.data + s * p.initial.row + d * p.initial.channel, p.initial.state,
                  in_vectors.initial, h);
    __syncwarp();
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      if (t >= tokens) break;
      float delta = dt[t] + bias;
      if (p.softplus) delta = softplus_fast(delta);
      if (p.limited) delta = min_or_nan(max_or_nan(delta, p.dt_min), p.dt_max);
      const float drive = u[t] * delta;
      float sum[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        constexpr int kHalf = kPassStates / 2;
        float B[kHalf], C[kHalf];
        read(shared[warp][t] + half * kHalf, B);
        read(shared[warp][t] + kPassStates + half * kHalf, C);
#pragma unroll
        for (int i = 0; i < kHalf; ++i) {
          const int n = half * kHalf + i;
          h[n] = __fmaf_rn(exp2_flushed(delta * A[n]), h[n], drive * B[i]);
          sum[half] = i == 0 ? C[i] * h[n] : __fmaf_rn(C[i], h[n], sum[half]);
        }
      }
      float y = sum[0] + sum[1];
      if (p.D != nullptr) y = __fmaf_rn(D, u[t], y);
      if (p.z.data != nullptr) y *= silu_fast(z[t]);
      if (real) *const_cast<T*>(element(p.y, t)) = from_float<T>(y);
    }
    if (real && p.final.data != nullptr) {
      float* to = p.final.data + s * p.final.row + d * p.final.channel;
      if (in_vectors.final) {
#pragma unroll
        for (int n = 0; n < kPassStates; n += 4)
          *reinterpret_cast<float4*>(to + n) = make_float4(h[n], h[n + 1], h[n + 2], h[n + 3]);
      } else {
#pragma unroll
        for (int n = 0; n < kPassStates; ++n) to[n * p.final.state] = h[n];
      }
    }
    __syncwarp();
  }
}

Decline why_not(const SelectiveScan::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.seqlen == 0) return why::kShort;
  if (p.seqlen > kMostTokens) return why::kLong;
  if (p.dstate != kPassStates) return why::kDstate;
  if (p.packed) return why::kPacked;
  if (p.ncheckpoints > 0) return why::kCheckpoints;
  return {};
}

template <class T, int kTokens>
Status launch_few(const ScanArgs& args, const InVectors& in_vectors, cudaStream_t stream) {
  // Enough warps to hide memory's latency; a warp that takes several sequences reads A once.
  constexpr int64_t kWanted = 16, kMostRows = 65535;
  const int64_t blocks = ceil_div(args.blocks_of_group * (args.dim / args.group_dim), kWarps);
  const int64_t rows = std::clamp<int64_t>(kWanted / kWarps * this_machine().num_sms / blocks, 1,
                                           std::min(args.sequences.nseq, kMostRows));
  start_overlapped(scan_few<T, kTokens>,
                   dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(rows)), 32 * kWarps, 0,
                   stream, args, in_vectors);
  return launched(kName);
}

Status run(const SelectiveScan::Args& args, const Launch& launch) {
  ScanArgs a = ScanArgs::of(args);
  if (a.dim == 0 || a.sequences.nseq == 0) return {};
  a.blocks_of_group = ceil_div(a.group_dim, 32);
  const auto vectors = [](const ConstTensorView& v) {
    return v.present() && v.stride[v.rank - 1] == 1 && aligned_rows(v, v.rank - 1, 16);
  };
  const InVectors in_vectors{vectors(args.A), vectors(args.initial_state),
                             vectors(args.final_state)};
  const cudaStream_t stream = stream_of(launch);
  return with_element(args.u.dtype, [&]<class T>() -> Status {
    return a.sequences.seqlen == 1
               ? launch_few<T, 1>(a, in_vectors, stream)
               : launch_few<T, static_cast<int>(kMostTokens)>(a, in_vectors, stream);
  });
}

}  // namespace

namespace selective_scan {
extern constinit const Kernel<SelectiveScan> few_tokens;
constinit const Kernel<SelectiveScan> few_tokens{.name = kName,
                                                 .why_not = why_not,
                                                 .workspace_bytes = nullptr,
                                                 .run = run,
                                                 .device = Device::kCuda};
}  // namespace selective_scan
}  // namespace hiss::cuda
