// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Decode: one pass over the states at the speed of memory.
//
// A warp takes some rows of one head of one sequence. Up to 32 lanes hold a row, a 16-byte vector
// or two each; the loads of all rows are under way before the first is used, and everything that
// does not depend on the slot is loaded before the slot is known. Bound by memory, so what counts
// is how many bytes a multiprocessor has under way: docs/kernels/selective_state_update_cuda.md.
//
// Serves strict: a row's tokens are taken one after another, its state rounded to its type after
// each, as calls of one token each would.

#include <algorithm>

#include "cuda/launch.h"
#include "cuda/selective_state_update/update.cuh"

namespace hiss::cuda {
namespace {

using namespace selective_state_update;  // the pieces this file is made of

constexpr std::string_view kName = "selective_state_update/cuda.sm80.rows_in_registers";
constexpr int kThreads = 128;

// kWidth elements in as few accesses as there can be; zeros where there are none.
template <int kWidth, class T>
__device__ __forceinline__ void load_row(const T* from, bool exists, float (&to)[kWidth]) {
  constexpr int kPart = kWidth < kWidest<T> ? kWidth : kWidest<T>;
#pragma unroll
  for (int i = 0; i < kWidth; i += kPart) {
    float part[kPart] = {};
    if (exists) load_pack<kPart>(from + i, part);
#pragma unroll
    for (int k = 0; k < kPart; ++k) to[i + k] = part[k];
  }
}

// What one token brings: numbers of one row, B and C of the lane's states.
template <int kVectors, int kWidth>
struct Token {
  float x, dt, z, B[kVectors][kWidth], C[kVectors][kWidth];
};

template <class T, class State, bool kTied, int kLanes, int kVectors, int kRows, int kMinBlocks>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    update(const __grid_constant__ UpdateArgs a) {
  static_assert(kRows <= kLanes);
  constexpr int kWidth = kWidest<State>, kGroups = 32 / kLanes, kShare = kLanes / kRows;
  const int lane = threadIdx.x % 32, in_group = lane % kLanes, base = lane - in_group;
  // A division of 64 bits costs more than a row.
  const int headdim = static_cast<int>(a.headdim);
  const auto blocks_of_head =
      static_cast<unsigned>((headdim + kGroups * kRows - 1) / (kGroups * kRows));
  const unsigned unit = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  const unsigned head = unit / blocks_of_head, nheads = static_cast<unsigned>(a.nheads);
  if (head >= static_cast<unsigned>(a.batch) * nheads) return;
  const int first = static_cast<int>(unit % blocks_of_head) * (kGroups * kRows) + lane / kLanes;
  const int64_t h = head % nheads, b = head / nheads;
  const int64_t g = static_cast<unsigned>(h) / static_cast<unsigned>(a.heads_of_group);
  // kShare lanes compute what is one number a row (delta, gate, y) for the same row.
  const int mine = first + in_group / kShare * kGroups;
  const bool exists = mine < headdim, owner = exists && in_group % kShare == 0;
  const int n = in_group * kWidth, dstate = static_cast<int>(a.dstate);  // the lane's first state

  const auto at = [&](const Strides& by) {
    return b * by.axis[0] + h * by.axis[2] + mine * by.axis[3];
  };
  const int64_t x_at = at(a.x_by), dt_at = at(a.dt_by), z_at = at(a.z_by);
  const T* const B = static_cast<const T*>(a.B) + b * a.B_by.axis[0] + g * a.B_by.axis[2] + n;
  const T* const C = static_cast<const T*>(a.C) + b * a.C_by.axis[0] + g * a.C_by.axis[2] + n;
  const auto load_token = [&](int64_t t) {
    Token<kVectors, kWidth> token{};
    if (exists) {
      token.x = to_float(static_cast<const T*>(a.x)[x_at + t * a.x_by.axis[1]]);
      token.dt = a.raw_step<T>(dt_at + t * a.dt_by.axis[1]);
      if (a.z != nullptr) token.z = to_float(static_cast<const T*>(a.z)[z_at + t * a.z_by.axis[1]]);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      constexpr int kNext = kLanes * kWidth;
      load_row<kWidth>(B + t * a.B_by.axis[1] + v * kNext, n + v * kNext < dstate, token.B[v]);
      load_row<kWidth>(C + t * a.C_by.axis[1] + v * kNext, n + v * kNext < dstate, token.C[v]);
    }
    return token;
  };

  T* const y = static_cast<T*>(a.y) + at(a.y_by);
  const int64_t slot = a.slot(b);
  Token<kVectors, kWidth> token;
  if (a.ntokens > 0) token = load_token(0);
  const float head_rate = kTied ? a.A[h * a.A_by.axis[0]] : 0.0f;
  float D = 0, bias = 0;
  if (a.D != nullptr && exists) D = a.D[h * a.D_by.axis[0] + mine * a.D_by.axis[1]];
  if (a.dt_bias != nullptr && exists)
    bias = a.dt_bias[h * a.bias_by.axis[0] + mine * a.bias_by.axis[1]];
  if (slot < 0) {
    for (int64_t t = 0; t < a.ntokens && owner; ++t) y[t * a.y_by.axis[1]] = from_float<T>(0.0f);
    return;
  }

  float s[kRows][kVectors][kWidth];
  // f(states of a row, pointer to them) for those that exist.
  const auto for_rows = [&](State* from, int64_t row, auto&& f) {
    from += first * row + n;
#pragma unroll
    for (int r = 0; r < kRows; ++r, from += kGroups * row)
#pragma unroll
      for (int v = 0; v < kVectors; ++v)
        if (first + r * kGroups < headdim && n + v * kLanes * kWidth < dstate)
          f(s[r][v], from + v * kLanes * kWidth);
  };
  State* const state =
      static_cast<State*>(a.state) + slot * a.state_by.axis[0] + h * a.state_by.axis[1];
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
#pragma unroll
      for (int i = 0; i < kWidth; ++i) s[r][v][i] = 0;
  for_rows(state, a.state_by.axis[2],
           [](float(&v)[kWidth], State* at) { load_pack<kWidth>(at, v); });

  for (int64_t t = 0; t < a.ntokens; ++t) {
    if (t > 0) token = load_token(t);
    const float delta = a.step(token.dt + bias), delta_x = delta * token.x;
    const float decay = kTied ? selective_scan::exp2_flushed(delta * a.rate(head_rate)) : delta;
    float sum[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float row_x = __shfl_sync(0xffffffffu, delta_x, base + r * kShare);
      const float row = __shfl_sync(0xffffffffu, decay, base + r * kShare);
      sum[r] = 0;
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        float row_decay[kWidth];
        if constexpr (!kTied) {
          const int p = first + r * kGroups;
          const int from = n + v * kLanes * kWidth;
          load_row<kWidth>(a.A + h * a.A_by.axis[0] + p * a.A_by.axis[1] + from,
                           p < headdim && from < dstate, row_decay);
        }
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
          row_decay[i] = kTied ? row : selective_scan::exp2_flushed(row * a.rate(row_decay[i]));
          float& value = s[r][v][i];
          value = __fmaf_rn(row_decay[i], value, row_x * token.B[v][i]);
        }
        if (sizeof(State) < 4 && a.strict) {
#pragma unroll
          for (int i = 0; i < kWidth; ++i) s[r][v][i] = to_float(from_float<State>(s[r][v][i]));
        }
#pragma unroll
        for (int i = 0; i < kWidth; ++i) sum[r] = __fmaf_rn(token.C[v][i], s[r][v][i], sum[r]);
      }
      if (n >= dstate) sum[r] = 0;  // whatever x is
    }
    if (a.snapshots != nullptr)
      for_rows(static_cast<State*>(a.snapshots) + b * a.snapshot_by.axis[0] +
                   t * a.snapshot_by.axis[1] + h * a.snapshot_by.axis[2],
               a.snapshot_by.axis[3],
               [](float(&v)[kWidth], State* at) { store_pack<kWidth>(v, at); });
    float result = row_sums<kLanes, kRows>(sum, in_group);
    if (a.D != nullptr) result = __fmaf_rn(D, token.x, result);
    if (a.z != nullptr) result *= selective_scan::silu_fast(token.z);
    if (owner) y[t * a.y_by.axis[1]] = from_float<T>(result);
  }
  for_rows(state, a.state_by.axis[2],
           [](float(&v)[kWidth], State* at) { store_pack<kWidth>(v, at); });
}

// Registers for as many blocks as keep enough rows under way.
template <class State, int kRows>
constexpr int kBlocks = sizeof(State) == 4 ? (kRows > 4 ? 4 : 6) : (kRows > 4 ? 3 : 5);

template <class T, class State, bool kTied, int kLanes, int kVectors, int kRows>
Status launch_update(const UpdateArgs& a, cudaStream_t stream) {
  const int64_t units = a.batch * a.nheads * ceil_div(a.headdim, 32 / kLanes * kRows);
  if (units == 0) return {};
  update<T, State, kTied, kLanes, kVectors, kRows, kBlocks<State, kRows * kVectors>>
      <<<static_cast<unsigned>(ceil_div(units, kThreads / 32)), kThreads, 0, stream>>>(a);
  return launched(kName);
}

// By how many lanes a row of the state is held.
template <class T, class State, bool kTied>
Status launch_lanes(const UpdateArgs& a, cudaStream_t stream) {
  constexpr int kRows = sizeof(State) == 4 && kTied ? 8 : 4;
  const int64_t vectors = ceil_div(a.dstate, kWidest<State>);
  if (vectors <= 2) return launch_update<T, State, kTied, 2, 1, 2>(a, stream);
  if (vectors <= 4) return launch_update<T, State, kTied, 4, 1, 4>(a, stream);
  if (vectors <= 8) return launch_update<T, State, kTied, 8, 1, kRows>(a, stream);
  if (vectors <= 16) return launch_update<T, State, kTied, 16, 1, kRows>(a, stream);
  if (vectors <= 32) return launch_update<T, State, kTied, 32, 1, kRows>(a, stream);
  return launch_update<T, State, kTied, 32, 2, 4>(a, stream);
}

Decline why_not(const SelectiveStateUpdate::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.has_initial_states) return why::kInitialStates;
  if (p.state_dtype != DType::kF32 && p.state_dtype != p.dtype) return why::kStateDtype;
  const int64_t width = 16 / size_of(p.state_dtype);
  if (p.dstate == 0 || p.dstate % width != 0 || p.dstate > 64 * width) return why::kDstate;
  if (!p.dense) return why::kLayout;
  return {};
}

// Rows of dense tensors that vectors cannot read: an odd address or an odd stride.
bool in_vectors(const SelectiveStateUpdate::Args& args, bool tied) {
  const int64_t bytes =
      std::min<int64_t>(16, 16 / size_of(args.state.dtype) * size_of(args.B.dtype));
  const auto aligned = [](const ConstTensorView& v, int64_t to) {
    return !v.present() || (v.stride[v.rank - 1] == 1 && aligned_rows(v, v.rank - 1, to));
  };
  return aligned(args.state, 16) && aligned(args.snapshots, 16) && aligned(args.B, bytes) &&
         aligned(args.C, bytes) && (tied || aligned(args.A, 16));
}

Status run(const SelectiveStateUpdate::Args& args, const Launch& launch) {
  const bool tied = SelectiveStateUpdate::describe(args).tied;
  if (!in_vectors(args, tied)) return any_view.run(args, launch);
  const UpdateArgs a = UpdateArgs::of(args);
  return with_types(args, [&]<class T, class State, bool kTied>() {
    return launch_lanes<T, State, kTied>(a, stream_of(launch));
  });
}

}  // namespace

namespace selective_state_update {
extern constinit const Kernel<SelectiveStateUpdate> rows_in_registers;
constinit const Kernel<SelectiveStateUpdate> rows_in_registers{.name = kName,
                                                               .why_not = why_not,
                                                               .workspace_bytes = nullptr,
                                                               .run = run,
                                                               .device = Device::kCuda};
}  // namespace selective_state_update
}  // namespace hiss::cuda
