// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Token by token, any problem. A warp has four rows of a head with their states in registers,
// dstate over its lanes; a block has warps of one group, which share B and C. Rows, heads and
// sequences run in parallel, time does not: it suits short sequences and many rows.
//
// Serves strict: a step depends on the state before it and on nothing else. A 16-bit state is then
// rounded at every token.

#include "cuda/launch.h"
#include "cuda/ssd_chunk_scan/scan_view.cuh"

namespace hiss::cuda::ssd_chunk_scan {
namespace {

constexpr std::string_view kName = "ssd_chunk_scan/cuda.sm80.sequential";
constexpr int kRows = 4, kWarps = 8, kThreads = kWarps * 32;

// decay * s = factor * s + rest * s. With factor = decay - 1 and rest = 1 while the decay is above
// a half: its rounding, the same at every token of a constant step, would pile up over the tokens
// that are remembered. Else rest is what factor lost to rounding.
struct Step {
  float delta, factor, rest;
};

__device__ Step make_step(const Scan& scan, double rate, float dt) {
  const float delta = step_size(scan, dt);
  const double logarithm = delta * rate;
  if (logarithm > -0.6931 && logarithm <= 0.0)
    return {delta, expm1f(static_cast<float>(logarithm)), 1.0f};
  const double decay = exp(logarithm);
  const auto factor = static_cast<float>(decay);
  return {delta, factor, isfinite(factor) ? static_cast<float>(decay - factor) : 0.0f};
}

template <int kPerLane>
struct Tile {
  static constexpr int kTokens = kPerLane <= 4 ? 16 : 64 / kPerLane;
  static constexpr int kStates = 32 * kPerLane;
  float b[kTokens][kStates], c[kTokens][kStates];
  float x[kTokens][kWarps][kRows], y[kTokens][kWarps][kRows];
  Step step[kWarps][kTokens];
};

// A lane's states are runs of up to four neighbours.
template <int kPerLane>
inline constexpr int kRun = kPerLane < 4 ? kPerLane : 4;

template <int kPerLane>
__device__ __forceinline__ int first_of_run(int lane, int run) {
  return (run * 32 + lane) * kRun<kPerLane>;
}

template <int kPerLane>
__device__ __forceinline__ void read_states(float (&v)[kPerLane], const float* shared, int lane) {
  constexpr int kLength = kRun<kPerLane>;
#pragma unroll
  for (int i = 0; i < kPerLane / kLength; ++i)
    load_pack(shared + first_of_run<kPerLane>(lane, i),
              *reinterpret_cast<float(*)[kLength]>(v + i * kLength));
}

// Sums of four values over the warp; lane l gets that of value l / 8.
__device__ __forceinline__ float sum_rows(const float (&v)[kRows], int lane) {
  const bool upper = lane & 16, odd = lane & 8;
  const float a = (upper ? v[2] : v[0]) + __shfl_xor_sync(~0u, upper ? v[0] : v[2], 16);
  const float b = (upper ? v[3] : v[1]) + __shfl_xor_sync(~0u, upper ? v[1] : v[3], 16);
  float sum = (odd ? b : a) + __shfl_xor_sync(~0u, odd ? a : b, 8);
  for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  return sum;
}

// The states of a warp's rows: f(run of states, element) for each run inside the tensor where it is
// dense and aligned, f(state, element) for each state elsewhere. `head`: offset of the head's
// matrix; `axis`: of its rows.
template <int kPerLane, class State, class F>
__device__ __forceinline__ void for_each_state(const Scan& scan, const Tensor& m, int64_t head,
                                               int axis, int p0, int lane, bool in_runs,
                                               State& state, F&& f) {
  constexpr int kLength = kRun<kPerLane>;
  with_elements_at(m, head + p0 * m.stride[axis], [&]<class T>(T* rows) {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int r = 0; r < kPerLane; r += kLength) {
        const int n = first_of_run<kPerLane>(lane, r / kLength);
        if (p0 + i >= scan.headdim || n >= scan.dstate) continue;
        T* const run = rows + i * m.stride[axis] + n * m.stride[axis + 1];
        if (in_runs) {
          f(*reinterpret_cast<float(*)[kLength]>(&state[i][r]), run);
        } else {
#pragma unroll
          for (int e = 0; e < kLength; ++e)
            if (n + e < scan.dstate)
              f(*reinterpret_cast<float(*)[1]>(&state[i][r + e]), run + e * m.stride[axis + 1]);
        }
      }
  });
}

template <int kPerLane, bool kRound>
__global__ void __launch_bounds__(kThreads)
    by_token(const __grid_constant__ Scan scan, int blocks_per_group, DType state_dtype,
             bool in_runs) {
  using T = Tile<kPerLane>;
  __shared__ T tile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int heads = scan.nheads / scan.ngroups;
  const int row_blocks = (scan.headdim + kRows - 1) / kRows;
  const int g = static_cast<int>(blockIdx.x / blocks_per_group % scan.ngroups);
  const int64_t s = blockIdx.x / blocks_per_group / scan.ngroups;
  const int64_t unit = int64_t{blockIdx.x % blocks_per_group} * kWarps + warp;
  const bool active = unit < int64_t{heads} * row_blocks;
  const int h = g * heads + (active ? static_cast<int>(unit / row_blocks) : 0);
  const int p0 = active ? static_cast<int>(unit % row_blocks) * kRows : scan.headdim;
  const Span span = scan.sequences.at(s);
  const double rate = decay_rate(scan, h);

  // What comes next from memory, on its way to shared memory.
  constexpr int kValues = T::kTokens * T::kStates / kThreads;
  constexpr int kElements = (T::kTokens * kRows + 31) / 32;
  float next_b[kValues], next_c[kValues], next_x[kElements], next_z[kElements], next_dt = 0;
  const auto at = [&](const Tensor& m, int64_t t) {
    return span.row * m.stride[0] + t * m.stride[1] + h * m.stride[2];
  };
  const auto fetch = [&](int64_t t0) {
    const auto inputs = [&](const Tensor& m, float(&next)[kValues]) {
      with_elements_at(m, span.row * m.stride[0] + t0 * m.stride[1] + g * m.stride[2],
                       [&](const auto* tokens) {
#pragma unroll
                         for (int i = 0; i < kValues; ++i) {
                           const int e = i * kThreads + threadIdx.x;
                           const int j = e / T::kStates, n = e % T::kStates;
                           next[i] = t0 + j < span.end && n < scan.dstate
                                         ? to_float(tokens[j * m.stride[1] + n * m.stride[3]])
                                         : 0.0f;
                         }
                       });
    };
    inputs(scan.B, next_b);
    inputs(scan.C, next_c);
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const int e = i * 32 + lane, j = e / kRows, p = p0 + e % kRows;
      const bool inside = j < T::kTokens && t0 + j < span.end && p < scan.headdim;
      const auto element = [&](const Tensor& m) {
        return inside ? load(m.data, m.dtype, at(m, t0 + j) + p * m.stride[3]) : 0.0f;
      };
      next_x[i] = element(scan.x);
      next_z[i] = scan.z.data ? element(scan.z) : 0.0f;
    }
    if (lane < T::kTokens && t0 + lane < span.end)
      next_dt =
          load(scan.dt.data, scan.dt.dtype, at(scan.dt, t0 + lane)) + of_head(scan.dt_bias, h);
  };

  fetch(span.begin);
  float state[kRows][kPerLane] = {};
  if (const Tensor& m = scan.initial_states; m.data)
    for_each_state<kPerLane>(scan, m, s * m.stride[0] + h * m.stride[1], 2, p0, lane, in_runs,
                             state, [](auto& v, const auto* from) { load_pack(from, v); });
  const auto write_states = [&](const Tensor& m, int64_t head, int axis) {
    for_each_state<kPerLane>(scan, m, head, axis, p0, lane, in_runs, state,
                             [](auto& v, auto* to) { store_pack(v, to); });
  };
  int checkpoint = first_checkpoint(scan, span.begin);
  const auto checkpoint_token = [&] {
    return checkpoint < scan.ncheckpoints ? token_of(scan.checkpoint_tokens, checkpoint) : -1;
  };
  int64_t next_checkpoint = checkpoint_token();

  for (int64_t t0 = span.begin; t0 < span.end; t0 += T::kTokens) {
    __syncthreads();
    float z[kElements];
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      const int e = i * kThreads + threadIdx.x;
      tile.b[e / T::kStates][e % T::kStates] = next_b[i];
      tile.c[e / T::kStates][e % T::kStates] = next_c[i];
    }
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const int e = i * 32 + lane;
      if (e / kRows < T::kTokens) tile.x[e / kRows][warp][e % kRows] = next_x[i];
      z[i] = next_z[i];
    }
    if (lane < T::kTokens) tile.step[warp][lane] = make_step(scan, rate, next_dt);
    __syncthreads();
    if (t0 + T::kTokens < span.end) fetch(t0 + T::kTokens);

    const int tokens = static_cast<int>(min(span.end - t0, int64_t{T::kTokens}));
#pragma unroll 2
    for (int j = 0; j < tokens; ++j) {
      float b[kPerLane], c[kPerLane], x[kRows], y[kRows] = {};
      read_states(b, tile.b[j], lane);
      read_states(c, tile.c[j], lane);
      load_pack(tile.x[j][warp], x);
      const Step step = tile.step[warp][j];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float input = step.delta * x[i];
#pragma unroll
        for (int r = 0; r < kPerLane; ++r) {
          float& v = state[i][r];
          v = fmaf(step.factor, v, fmaf(input, b[r], step.rest * v));
          if constexpr (kRound)
            v = state_dtype == DType::kBF16 ? to_float(from_float<__nv_bfloat16>(v))
                                            : to_float(from_float<__half>(v));
          y[i] = fmaf(c[r], v, y[i]);
        }
      }
      const float sum = sum_rows(y, lane);
      if (lane % 8 == 0) tile.y[j][warp][lane / 8] = sum;
      for (; t0 + j == next_checkpoint; ++checkpoint, next_checkpoint = checkpoint_token()) {
        const Tensor& m = scan.checkpoint_states;
        write_states(m, span.row * m.stride[0] + checkpoint * m.stride[1] + h * m.stride[2], 3);
      }
    }
    __syncwarp();

#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const int e = i * 32 + lane, j = e / kRows, p = p0 + e % kRows;
      if (j >= tokens || p >= scan.headdim) continue;
      float y = tile.y[j][warp][e % kRows];
      if (scan.D.data) y = fmaf(skip_of(scan, h, p), tile.x[j][warp][e % kRows], y);
      if (scan.z.data) y *= silu(z[i]);
      store(scan.y.data, scan.y.dtype, at(scan.y, t0 + j) + p * scan.y.stride[3], y);
    }
  }
  if (const Tensor& m = scan.final_states; m.data)
    write_states(m, s * m.stride[0] + h * m.stride[1], 2);
}

Decline why_not(const SsdChunkScan::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.dstate > 512) return why::kDstate;
  return {};
}

Status run(const SsdChunkScan::Args& args, const Launch& launch) {
  const SsdChunkScan::Problem p = SsdChunkScan::describe(args);
  if (p.nseq * p.nheads * p.headdim == 0) return {};
  const Scan scan = scan_of(args, p);
  const bool round = p.precision == Precision::kStrict && p.state_dtype != DType::kF32;
  const int64_t units = p.nheads / p.ngroups * ceil_div(p.headdim, kRows);
  const int64_t per_group = ceil_div(units, kWarps);
  const auto blocks = static_cast<unsigned>(p.nseq * p.ngroups * per_group);
  const auto start = [&]<int kPerLane>() {
    const auto function = round ? by_token<kPerLane, true> : by_token<kPerLane, false>;
    function<<<blocks, kThreads, 0, stream_of(launch)>>>(scan, static_cast<int>(per_group),
                                                         p.state_dtype, states_in_fours(args));
  };
  if (p.dstate <= 32)
    start.operator()<1>();
  else if (p.dstate <= 64)
    start.operator()<2>();
  else if (p.dstate <= 128)
    start.operator()<4>();
  else if (p.dstate <= 256)
    start.operator()<8>();
  else
    start.operator()<16>();
  return launched(kName);
}

}  // namespace

extern constinit const Kernel<SsdChunkScan> sequential;
constinit const Kernel<SsdChunkScan> sequential{.name = kName,
                                                .why_not = why_not,
                                                .workspace_bytes = nullptr,
                                                .run = run,
                                                .device = Device::kCuda};
}  // namespace hiss::cuda::ssd_chunk_scan
