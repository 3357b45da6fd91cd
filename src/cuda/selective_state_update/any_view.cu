// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Decode of any view, any dstate, any mixture of types: the row below the fast one.
//
// A warp takes one row of a head; its lanes share the states. Between tokens a state is where it
// belongs, in memory and rounded to its type.
//
// Serves strict: tokens one after another, the sum over the states always in the same order.

#include "cuda/launch.h"
#include "cuda/selective_state_update/update.cuh"

namespace hiss::cuda {
namespace {

using namespace selective_state_update;  // the pieces this file is made of

constexpr std::string_view kName = "selective_state_update/cuda.sm80.any_view";
constexpr int kThreads = 128;

template <class T, class State>
__global__ void __launch_bounds__(kThreads) update_any_view(const __grid_constant__ UpdateArgs a) {
  const int64_t row = int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (row >= a.batch * a.nheads * a.headdim) return;
  const int64_t p = row % a.headdim, h = row / a.headdim % a.nheads;
  const int64_t b = row / a.headdim / a.nheads, g = h / a.heads_of_group;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto at = [&](const Strides& by, int64_t t) {
    return b * by.axis[0] + t * by.axis[1] + h * by.axis[2] + p * by.axis[3];
  };
  const int64_t slot = a.slot(b);
  State* const state = static_cast<State*>(a.state) + slot * a.state_by.axis[0] +
                       h * a.state_by.axis[1] + p * a.state_by.axis[2];
  const float* const A = a.A + h * a.A_by.axis[0] + p * a.A_by.axis[1];
  const float D = a.D == nullptr ? 0.0f : a.D[h * a.D_by.axis[0] + p * a.D_by.axis[1]];
  const float bias =
      a.dt_bias == nullptr ? 0.0f : a.dt_bias[h * a.bias_by.axis[0] + p * a.bias_by.axis[1]];

  for (int64_t t = 0; t < a.ntokens; ++t) {
    T* const y = static_cast<T*>(a.y) + at(a.y_by, t);
    if (slot < 0) {
      if (lane == 0) *y = from_float<T>(0.0f);
      continue;
    }
    const float x = to_float(static_cast<const T*>(a.x)[at(a.x_by, t)]);
    const float delta = a.step(a.raw_step<T>(at(a.dt_by, t)) + bias), delta_x = delta * x;
    const T* const B =
        static_cast<const T*>(a.B) + b * a.B_by.axis[0] + t * a.B_by.axis[1] + g * a.B_by.axis[2];
    const T* const C =
        static_cast<const T*>(a.C) + b * a.C_by.axis[0] + t * a.C_by.axis[1] + g * a.C_by.axis[2];
    float sum = 0;
    for (int64_t n = lane; n < a.dstate; n += 32) {
      State* const place = state + n * a.state_by.axis[3];
      const float decay = selective_scan::exp2_flushed(delta * a.rate(A[n * a.A_by.axis[2]]));
      float s = __fmaf_rn(decay, to_float(*place), delta_x * to_float(B[n * a.B_by.axis[3]]));
      const State stored = from_float<State>(s);
      *place = stored;
      if (a.snapshots != nullptr)
        static_cast<State*>(a.snapshots)[at(a.snapshot_by, t) + n * a.snapshot_by.axis[4]] = stored;
      if (a.strict) s = to_float(stored);
      sum = __fmaf_rn(to_float(C[n * a.C_by.axis[3]]), s, sum);
    }
#pragma unroll
    for (int width = 16; width > 0; width /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, width);
    if (lane > 0) continue;
    if (a.D != nullptr) sum = __fmaf_rn(D, x, sum);
    if (a.z != nullptr)
      sum *= selective_scan::silu_fast(to_float(static_cast<const T*>(a.z)[at(a.z_by, t)]));
    *y = from_float<T>(sum);
  }
}

Decline why_not(const SelectiveStateUpdate::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  return p.has_initial_states ? why::kInitialStates : Decline();
}

Status run(const SelectiveStateUpdate::Args& args, const Launch& launch) {
  const UpdateArgs a = UpdateArgs::of(args);
  const int64_t rows = a.batch * a.nheads * a.headdim;
  if (rows == 0) return {};
  const auto blocks = static_cast<unsigned>(ceil_div(rows, kThreads / 32));
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    return with_element(args.state.dtype, [&]<class State>() -> Status {
      update_any_view<T, State><<<blocks, kThreads, 0, stream_of(launch)>>>(a);
      return launched(kName);
    });
  });
}

}  // namespace

namespace selective_state_update {
constinit const Kernel<SelectiveStateUpdate> any_view{.name = kName,
                                                      .why_not = why_not,
                                                      .workspace_bytes = nullptr,
                                                      .run = run,
                                                      .device = Device::kCuda};
}  // namespace selective_state_update
}  // namespace hiss::cuda
