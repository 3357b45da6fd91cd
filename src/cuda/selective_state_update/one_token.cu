// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Decode of one token: each state is read once and written once, at the speed of memory.
//
// A warp takes some rows of one head of one sequence. Up to 32 lanes hold a row, a 16-byte vector
// or two each. All rows are asked for before the first is used, everything that does not depend on
// the slot before the slot is known; a row is converted, taken a token on, converted back and
// stored before the next is looked at. Bound by memory, so that what is left of instructions is
// what counts: no division, offsets within a head in 32 bits, numbers that a head shares made once.
// docs/kernels/selective_state_update_cuda.md.
//
// Serves strict: the state is rounded to its type before it is summed over.

#include <algorithm>
#include <limits>

#include "cuda/launch.h"
#include "cuda/selective_state_update/update.cuh"

namespace hiss::cuda {
namespace {

using namespace selective_state_update;  // the pieces this file is made of

constexpr std::string_view kName = "selective_state_update/cuda.sm80.one_token";
constexpr int kThreads = 128, kWarps = kThreads / 32;
constexpr int64_t kMostBlocks = 65535;  // of the second and third axis of a grid

// kLanes lanes hold a row, kVectors vectors each; a warp takes 32 / kLanes * kRows rows.
template <class T_, class State_, bool kTied_, int kLanes_, int kVectors_, int kRows_>
struct Rows {
  using T = T_;
  using State = State_;
  static constexpr bool kTied = kTied_;
  static constexpr int kLanes = kLanes_, kVectors = kVectors_, kRows = kRows_;
  static constexpr int kWidth = kWidest<State>, kGroups = 32 / kLanes;
  static constexpr int kWarpRows = kGroups * kRows, kNext = kLanes * kWidth;
  static constexpr int kShare = kLanes / kRows;  // lanes that make what is one number a row
  static_assert(kRows <= kLanes);
};

// The rows of a warp from `first` on, a lane's states from n on. kFull: all of them exist.
template <class L, bool kFull>
__device__ __forceinline__ void take_token(const UpdateArgs& a, int64_t b, int64_t h, int first,
                                           int n) {
  using T = typename L::T;
  using State = typename L::State;
  using StatePack = Pack<State, L::kWidth>;
  const int lane = threadIdx.x % 32, in_group = lane % L::kLanes, base = lane - in_group;
  const int headdim = static_cast<int>(a.headdim), dstate = static_cast<int>(a.dstate);
  const int mine = first + in_group / L::kShare * L::kGroups;
  const bool exists = kFull || mine < headdim;
  const auto held = [&](int r, int v) {
    return kFull || (first + r * L::kGroups < headdim && n + v * L::kNext < dstate);
  };

  const int64_t slot = a.slot(b);
  const auto at = [&](const Strides& by) {
    return b * by.axis[0] + h * by.axis[2] + int64_t{mine} * static_cast<int>(by.axis[3]);
  };
  const auto of_row = [&](const Strides& by) {
    return h * by.axis[0] + int64_t{mine} * static_cast<int>(by.axis[1]);
  };
  const int64_t g = static_cast<unsigned>(h) / static_cast<unsigned>(a.heads_of_group);
  float x = 0, z = 0, D = 0, dt = 0;
  if (exists) {
    x = to_float(static_cast<const T*>(a.x)[at(a.x_by)]);
    if (a.z != nullptr) z = to_float(static_cast<const T*>(a.z)[at(a.z_by)]);
    if (a.D != nullptr) D = a.D[of_row(a.D_by)];
  }
  if (exists || L::kTied) {  // every lane decays by what its head shares
    dt = a.raw_step<T>(at(a.dt_by));
    if (a.dt_bias != nullptr) dt += a.dt_bias[of_row(a.bias_by)];
  }
  float B[L::kVectors][L::kWidth], C[L::kVectors][L::kWidth];
  const T* const from_b = static_cast<const T*>(a.B) + b * a.B_by.axis[0] + g * a.B_by.axis[2] + n;
  const T* const from_c = static_cast<const T*>(a.C) + b * a.C_by.axis[0] + g * a.C_by.axis[2] + n;
#pragma unroll
  for (int v = 0; v < L::kVectors; ++v) {
#pragma unroll
    for (int i = 0; i < L::kWidth; ++i) B[v][i] = C[v][i] = 0;
    if (!kFull && n + v * L::kNext >= dstate) continue;
    load_pack<L::kWidth>(from_b + v * L::kNext, B[v]);
    load_pack<L::kWidth>(from_c + v * L::kNext, C[v]);
  }
  float rates[L::kTied ? 1 : L::kRows][L::kVectors][L::kTied ? 1 : L::kWidth] = {};
  if constexpr (L::kTied) {
    rates[0][0][0] = a.A[h * a.A_by.axis[0]];
  } else {
    const float* A = a.A + h * a.A_by.axis[0] + int64_t{first} * static_cast<int>(a.A_by.axis[1]);
#pragma unroll
    for (int r = 0; r < L::kRows; ++r, A += L::kGroups * a.A_by.axis[1])
#pragma unroll
      for (int v = 0; v < L::kVectors; ++v)
#pragma unroll
        for (int i = 0; i < L::kWidth; i += 4) {
          float part[4] = {};
          if (held(r, v)) load_pack<4>(A + n + v * L::kNext + i, part);
#pragma unroll
          for (int k = 0; k < 4; ++k) rates[r][v][i + k] = part[k];
        }
  }
  T* const y = static_cast<T*>(a.y) + at(a.y_by);
  const bool owner = exists && in_group % L::kShare == 0;
  if (slot < 0) {
    if (owner) *y = from_float<T>(0.0f);
    return;
  }

  const int64_t next = L::kGroups * a.state_by.axis[2];
  State* state = static_cast<State*>(a.state) + slot * a.state_by.axis[0] + h * a.state_by.axis[1] +
                 int64_t{first} * static_cast<int>(a.state_by.axis[2]) + n;
  StatePack raw[L::kRows][L::kVectors];
  {
    const State* from = state;
#pragma unroll
    for (int r = 0; r < L::kRows; ++r, from += next)
#pragma unroll
      for (int v = 0; v < L::kVectors; ++v) {
        if (!kFull) raw[r][v] = {};
        if (held(r, v)) raw[r][v] = *reinterpret_cast<const StatePack*>(from + v * L::kNext);
      }
  }
  const float delta = a.step(dt), delta_x = delta * x;
  const float head_decay =
      L::kTied ? selective_scan::exp2_flushed(delta * a.rate(rates[0][0][0])) : 0.0f;
  float sum[L::kRows];
#pragma unroll
  for (int r = 0; r < L::kRows; ++r, state += next) {
    const float row_x = __shfl_sync(0xffffffffu, delta_x, base + r * L::kShare);
    const float row = L::kTied ? 0 : __shfl_sync(0xffffffffu, delta, base + r * L::kShare);
    sum[r] = 0;
#pragma unroll
    for (int v = 0; v < L::kVectors; ++v) {
      float s[L::kWidth];
#pragma unroll
      for (int i = 0; i < L::kWidth; ++i) {
        float decay = head_decay;
        if constexpr (!L::kTied) decay = selective_scan::exp2_flushed(row * a.rate(rates[r][v][i]));
        s[i] = __fmaf_rn(decay, to_float(raw[r][v].element[i]), row_x * B[v][i]);
      }
      if (held(r, v)) store_pack<L::kWidth>(s, state + v * L::kNext);
      if (sizeof(State) < 4 && a.strict) {
#pragma unroll
        for (int i = 0; i < L::kWidth; ++i) s[i] = to_float(from_float<State>(s[i]));
      }
#pragma unroll
      for (int i = 0; i < L::kWidth; ++i) sum[r] = __fmaf_rn(C[v][i], s[i], sum[r]);
    }
    if (!kFull && n >= dstate) sum[r] = 0;  // whatever x is
  }
  float result = row_sums<L::kLanes, L::kRows>(sum, in_group);
  if (a.D != nullptr) result = __fmaf_rn(D, x, result);
  if (a.z != nullptr) result *= selective_scan::silu_fast(z);
  if (owner) *y = from_float<T>(result);
}

// From Hopper on a launch may begin while the one before it ends: blocks come as others leave, and
// wait here until all that came before is done and can be seen.
__device__ __forceinline__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
#endif
}

template <class L, int kMinBlocks>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    update_once(const __grid_constant__ UpdateArgs a) {
  wait_for_launch_before();
  const int lane = threadIdx.x % 32, n = lane % L::kLanes * L::kWidth;
  const int warp = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x / 32);
  const int first = warp * L::kWarpRows, headdim = static_cast<int>(a.headdim);
  if (first >= headdim) return;
  const bool full = first + L::kWarpRows <= headdim && a.dstate == L::kVectors * L::kNext;
  for (int64_t b = blockIdx.z; b < a.batch; b += gridDim.z) {
    if (full)
      take_token<L, true>(a, b, blockIdx.y, first + lane / L::kLanes, n);
    else
      take_token<L, false>(a, b, blockIdx.y, first + lane / L::kLanes, n);
  }
}

template <class L, int kMinBlocks>
Status launch_once(const UpdateArgs& a, cudaStream_t stream) {
  if (a.batch == 0 || a.nheads == 0 || a.headdim == 0) return {};
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim =
      dim3(static_cast<unsigned>(ceil_div(a.headdim, L::kWarpRows * kWarps)),
           static_cast<unsigned>(a.nheads), static_cast<unsigned>(std::min(a.batch, kMostBlocks)));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  config.attrs = &overlap, config.numAttrs = this_machine().cuda_sm >= 90 ? 1 : 0;
  return device_status(kName, cudaLaunchKernelEx(&config, update_once<L, kMinBlocks>, a));
}

// By how many lanes a row of the state is held.
template <class T, class State, bool kTied>
Status launch_lanes(const UpdateArgs& a, cudaStream_t stream) {
  // What fits beside each other in registers; 16-bit vectors have twice the numbers.
  constexpr bool kWide = sizeof(State) == 4;
  constexpr int kMinBlocks = kWide ? (kTied ? 8 : 5) : (kTied ? 6 : 4);
  const int64_t vectors = ceil_div(a.dstate, kWidest<State>);
  if (vectors <= 2)
    return launch_once < Rows<T, State, kTied, 2, 1, 2>, kWide ? 8 : 6 > (a, stream);
  if (vectors <= 4)
    return launch_once < Rows<T, State, kTied, 4, 1, 4>, kWide ? 7 : kMinBlocks > (a, stream);
  if (vectors <= 8) return launch_once<Rows<T, State, kTied, 8, 1, 4>, kMinBlocks>(a, stream);
  if (vectors <= 16) return launch_once<Rows<T, State, kTied, 16, 1, 4>, kMinBlocks>(a, stream);
  if (vectors <= 32) return launch_once<Rows<T, State, kTied, 32, 1, 4>, kMinBlocks>(a, stream);
  return launch_once < Rows<T, State, kTied, 32, 2, 4>, kWide ? 4 : 2 > (a, stream);
}

Decline why_not(const SelectiveStateUpdate::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.has_initial_states) return why::kInitialStates;
  if (p.ntokens != 1) return why::kLong;
  if (p.has_snapshots) return why::kCheckpoints;
  if (p.state_dtype != DType::kF32 && p.state_dtype != p.dtype) return why::kStateDtype;
  const int64_t width = 16 / size_of(p.state_dtype);
  if (p.dstate == 0 || p.dstate % width != 0 || p.dstate > 64 * width) return why::kDstate;
  if (!p.dense || p.nheads > kMostBlocks) return why::kLayout;
  return {};
}

// Rows of dense tensors that vectors cannot read, an odd address or an odd stride, or that lie
// further apart than 32 bits say.
bool in_vectors(const SelectiveStateUpdate::Args& args, bool tied) {
  const int64_t bytes =
      std::min<int64_t>(16, 16 / size_of(args.state.dtype) * size_of(args.B.dtype));
  const auto aligned = [](const ConstTensorView& v, int64_t to) {
    return v.stride[v.rank - 1] == 1 && aligned_rows(v, v.rank - 1, to);
  };
  const auto near = [](const ConstTensorView& v, int axis) {
    return !v.present() || std::abs(v.stride[axis]) <= std::numeric_limits<int32_t>::max();
  };
  return aligned(args.state, 16) && aligned(args.B, bytes) && aligned(args.C, bytes) &&
         (tied || aligned(args.A, 16)) && near(args.x, 3) && near(args.dt, 3) && near(args.z, 3) &&
         near(args.y, 3) && near(args.D, 1) && near(args.dt_bias, 1) && near(args.A, 1) &&
         near(args.state, 2) && args.x.shape[3] <= std::numeric_limits<int32_t>::max() / 2;
}

Status run(const SelectiveStateUpdate::Args& args, const Launch& launch) {
  const UpdateArgs a = UpdateArgs::of(args);
  const bool tied = SelectiveStateUpdate::describe(args).tied;
  if (!in_vectors(args, tied)) return any_view.run(args, launch);
  const cudaStream_t stream = stream_of(launch);
  return with_element(args.x.dtype, [&]<class T>() -> Status {
    if (args.state.dtype == DType::kF32)
      return tied ? launch_lanes<T, float, true>(a, stream)
                  : launch_lanes<T, float, false>(a, stream);
    return tied ? launch_lanes<T, T, true>(a, stream) : launch_lanes<T, T, false>(a, stream);
  });
}

}  // namespace

namespace selective_state_update {
extern constinit const Kernel<SelectiveStateUpdate> one_token;
constinit const Kernel<SelectiveStateUpdate> one_token{.name = kName,
                                                       .why_not = why_not,
                                                       .workspace_bytes = nullptr,
                                                       .run = run,
                                                       .device = Device::kCuda};
}  // namespace selective_state_update
}  // namespace hiss::cuda
