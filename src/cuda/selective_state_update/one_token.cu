// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Decode of one token: each state is read once and written once, at the speed of memory.
//
// A warp takes some rows of one head of one sequence. Up to 32 lanes hold a row, a 16-byte vector
// or two each; all are asked for before the first is used. Few bytes take a launch and a round trip
// to memory, so the launch overlaps with the one before it: addresses are computed and the states
// asked into the cache before what came before has ended, nothing is read before that. Many bytes
// wake all warps of a multiprocessor at once, so instructions count: no branch a row, what does not
// exist is read again from what does and not stored. docs/kernels/selective_state_update_cuda.md.
//
// Serves strict: the state is rounded to its type before it is summed over.

#include <algorithm>

#include "cuda/launch.h"
#include "cuda/selective_state_update/token_args.cuh"
#include "cuda/selective_state_update/update.cuh"
#include "cuda/tile/overlap.cuh"

namespace hiss::cuda {
namespace {

using namespace selective_state_update;  // the pieces this file is made of

constexpr std::string_view kName = "selective_state_update/cuda.sm80.one_token";
constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int64_t kMostBlocks = 65535;  // of the second and third axis of a grid
template <class State>  // that registers suffice for on a multiprocessor, whatever a warp's share
constexpr int kBlocks = sizeof(State) == 4 ? 4 : 3;

// kLanes lanes hold a row, kVectors vectors each, and take kRows rows.
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

template <class T>
__device__ __forceinline__ float number_at(const char* at) {
  return to_float(*reinterpret_cast<const T*>(at));
}
// Elements from byte address `at` on, in as few accesses as there can be.
template <class T, int kCount>
struct Vector {
  static constexpr int kPart = kCount < kWidest<T> ? kCount : kWidest<T>;
  Pack<T, kPart> part[kCount / kPart];
  __device__ __forceinline__ static Vector at(const char* at) {
    Vector v;
#pragma unroll
    for (int i = 0; i < kCount / kPart; ++i)
      v.part[i] = reinterpret_cast<const Pack<T, kPart>*>(at)[i];
    return v;
  }
  __device__ __forceinline__ float operator[](int i) const {
    return to_float(part[i / kPart].element[i % kPart]);
  }
};

// A hint: nothing is read, so what a kernel before this one still writes may be there.
__device__ __forceinline__ void ask_ahead(const char* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}
// Makes an address before this point and not where it is used.
__device__ __forceinline__ void make_now(char*& at) {
  asm volatile("" : "+l"(at));
  __builtin_assume(__isGlobal(at));
}

template <class L, int kMinBlocks>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    update_once(const __grid_constant__ TokenArgs a) {
  using T = typename L::T;
  using State = typename L::State;
  constexpr int kStateBytes = sizeof(State), kBytes = sizeof(T);
  if (a.next_starts_early) let_next_kernel_start();
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int in_group = lane % L::kLanes, base = lane - in_group, n = in_group * L::kWidth;
  const int warp_first = (static_cast<int>(blockIdx.x) * kWarps + warp) * L::kWarpRows;
  if (warp_first >= a.headdim) return;
  const int first = warp_first + lane / L::kLanes, last = a.headdim - 1;
  const int mine = first + in_group / L::kShare * L::kGroups, p = min(mine, last);
  const bool owner = mine <= last && in_group % L::kShare == 0;
  const int h = static_cast<int>(blockIdx.y);
  const int64_t b = a.first_batch + blockIdx.z;
  uint32_t head_of_group;
  const int g = static_cast<int>(a.heads_of_group.divide(blockIdx.y, head_of_group));

  // What does not exist is read again from what does.
  int column[L::kVectors], row[L::kRows];
#pragma unroll
  for (int v = 0; v < L::kVectors; ++v)
    column[v] = n + v * L::kNext < a.dstate ? n + v * L::kNext : 0;
#pragma unroll
  for (int r = 0; r < L::kRows; ++r) row[r] = min(first + r * L::kGroups, last);
  char *x = a.x.at(b, h, p), *dt = a.dt.at(b, h, p), *z = a.z.at(b, h, p), *y = a.y.at(b, h, p);
  char *D = a.D.at(0, h, p), *bias = a.bias.at(0, h, p), *A = a.A.at(0, h, 0);
  char *B = a.B.at(b, g, 0), *C = a.C.at(b, g, 0);
  int64_t slot = b;
  if (a.indices != nullptr) {  // maybe an old one, checked below
    slot = __ldcg(a.indices + b * a.index_by);
    if (slot < 0 || slot >= a.nslots) slot = 0;
  }
  char* state = a.state.at(slot, h, 0);
  const auto offset = [&](int r, int v) { return row[r] * a.state.row + column[v] * kStateBytes; };
#pragma unroll
  for (int r = 0; r < L::kRows; ++r) {
#pragma unroll
    for (int v = 0; v < L::kVectors; ++v)
      if (kMinBlocks <= kBlocks<State> || a.next_starts_early) ask_ahead(state + offset(r, v));
    if (!L::kTied) ask_ahead(A + int64_t{row[r]} * a.A.row + column[0] * 4);
  }
  // What many warps share is asked for by few: the cache takes one after another.
  if (!L::kTied || warp == 0) {
    if (lane == 0) ask_ahead(x);
    if (!L::kTied || blockIdx.x == 0) {
      if (lane == 1) ask_ahead(dt);
      if (lane == 2 && a.bias.data != nullptr) ask_ahead(bias);
      if (lane == 3 && a.D.data != nullptr) ask_ahead(D);
      if (L::kTied && lane == 4) ask_ahead(A);
    }
    if (blockIdx.x == 0 && warp == 0 && head_of_group == 0) {
      ask_ahead(B + column[0] * kBytes);
      ask_ahead(C + column[0] * kBytes);
    }
  }
  make_now(x), make_now(dt), make_now(z), make_now(D), make_now(bias);
  make_now(A), make_now(B), make_now(C), make_now(state), make_now(y);
  wait_for_kernels_before();

  int64_t slot_now = slot;
  if (a.indices != nullptr) slot_now = a.indices[b * a.index_by];
  Vector<State, L::kWidth> s[L::kRows][L::kVectors];
  const auto load_states = [&] {
#pragma unroll
    for (int r = 0; r < L::kRows; ++r)
#pragma unroll
      for (int v = 0; v < L::kVectors; ++v)
        s[r][v] = Vector<State, L::kWidth>::at(state + offset(r, v));
  };
  const float dt_x = a.dt_is_f32 ? number_at<float>(dt) : number_at<T>(dt), x_p = number_at<T>(x);
  Vector<float, L::kWidth> rate[L::kRows][L::kVectors];
  float head_rate = 0;
  if constexpr (L::kTied) {
    head_rate = number_at<float>(A);
  } else {
#pragma unroll
    for (int r = 0; r < L::kRows; ++r)
#pragma unroll
      for (int v = 0; v < L::kVectors; ++v)
        rate[r][v] = Vector<float, L::kWidth>::at(A + int64_t{row[r]} * a.A.row + column[v] * 4);
  }
  load_states();
  Vector<T, L::kWidth> B_n[L::kVectors], C_n[L::kVectors];
#pragma unroll
  for (int v = 0; v < L::kVectors; ++v) {
    B_n[v] = Vector<T, L::kWidth>::at(B + column[v] * kBytes);
    C_n[v] = Vector<T, L::kWidth>::at(C + column[v] * kBytes);
  }
  const float bias_p = a.bias.data != nullptr ? number_at<float>(bias) : 0.0f;
  const float D_p = a.D.data != nullptr ? number_at<float>(D) : 0.0f;
  const float z_p = a.z.data != nullptr ? number_at<T>(z) : 0.0f;
  if (slot_now != slot) {
    if (slot_now < 0 || slot_now >= a.nslots) {
      if (owner) *reinterpret_cast<T*>(y) = from_float<T>(0.0f);
      return;
    }
    state += (slot_now - slot) * a.state.batch;
    load_states();
  }
  if (!a.next_starts_early) let_next_kernel_start();

  float delta = dt_x + bias_p;
  if (a.softplus) delta = selective_scan::softplus_fast(delta);
  delta = selective_scan::min_or_nan(selective_scan::max_or_nan(delta, a.dt_min), a.dt_max);
  const float delta_x = delta * x_p, power = delta * kLog2E;
  if (a.A_is_log) {
    head_rate = -expf(head_rate);
    if constexpr (!L::kTied)
#pragma unroll
      for (auto& of_row : rate)
#pragma unroll
        for (auto& of_vector : of_row)
#pragma unroll
          for (auto& part : of_vector.part)
#pragma unroll
            for (float& element : part.element) element = -expf(element);
  }
  const float head_decay = selective_scan::exp2_flushed(power * head_rate);
  float sum[L::kRows];
#pragma unroll
  for (int r = 0; r < L::kRows; ++r) {
    const float row_x = __shfl_sync(0xffffffffu, delta_x, base + r * L::kShare);
    const float row_power = L::kTied ? 0 : __shfl_sync(0xffffffffu, power, base + r * L::kShare);
    sum[r] = 0;
#pragma unroll
    for (int v = 0; v < L::kVectors; ++v) {
      float next[L::kWidth];
#pragma unroll
      for (int i = 0; i < L::kWidth; ++i) {
        const float decay =
            L::kTied ? head_decay : selective_scan::exp2_flushed(row_power * rate[r][v][i]);
        next[i] = __fmaf_rn(decay, s[r][v][i], row_x * B_n[v][i]);
      }
      const bool there = n + v * L::kNext < a.dstate;
      if (there && first + r * L::kGroups <= last)
        store_pack<L::kWidth>(next, reinterpret_cast<State*>(state + offset(r, v)));
      if (kStateBytes < 4 && a.strict) {
#pragma unroll
        for (int i = 0; i < L::kWidth; ++i) next[i] = to_float(from_float<State>(next[i]));
      }
      float part = 0;
#pragma unroll
      for (int i = 0; i < L::kWidth; ++i) part = __fmaf_rn(C_n[v][i], next[i], part);
      if (there) sum[r] += part;
    }
  }
  float result = row_sums<L::kLanes, L::kRows>(sum, in_group);
  if (a.D.data != nullptr) result = __fmaf_rn(D_p, x_p, result);
  if (a.z.data != nullptr) result *= selective_scan::silu_fast(z_p);
  if (owner) *reinterpret_cast<T*>(y) = from_float<T>(result);
}

template <class L, int kMinBlocks>
Status launch_once(TokenArgs a, int64_t batch, int64_t nheads, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(ceil_div(a.headdim, L::kWarpRows * kWarps));
  if (nheads == 0 || a.headdim == 0) return {};
  for (; a.first_batch < batch; a.first_batch += kMostBlocks) {
    const int64_t some = std::min(batch - a.first_batch, kMostBlocks);
    start_overlapped(update_once<L, kMinBlocks>,
                     dim3(blocks, static_cast<unsigned>(nheads), static_cast<unsigned>(some)),
                     kThreads, 0, stream, a);
    HISS_RETURN_IF_ERROR(launched(kName));
  }
  return {};
}

// By how many lanes a row of the state is held.
template <class T, class State, bool kTied>
Status launch_lanes(const SelectiveStateUpdate::Args& args, cudaStream_t stream) {
  // More than fills the device at once is bound by memory: larger pieces a warp. Less is bound by
  // latency: many warps.
  constexpr int64_t kFewBytes = 8 << 20, kEarlyBytes = 6 << 20, kSomeBytes = 32 << 20;
  const int64_t batch = args.x.shape[0], nheads = args.x.shape[2], dstate = args.A.shape[2];
  const int64_t bytes = args.x.elements() * dstate * static_cast<int64_t>(sizeof(State));
  TokenArgs a = TokenArgs::of(args);
  a.next_starts_early = bytes <= kEarlyBytes;
  const auto launch = [&]<class L, int kMinBlocks = kBlocks<State>>() {
    return launch_once<L, kMinBlocks>(a, batch, nheads, stream);
  };
  const int64_t vectors = ceil_div(dstate, kWidest<State>);
  if (vectors <= 2) return launch.template operator()<Rows<T, State, kTied, 2, 1, 2>>();
  constexpr int kMost = kTied ? 4 : 2;  // A is a vector for each of the states
  // Where A is not tied, more and smaller blocks for what fills the device two to four times: it
  // has no whole number of rounds for large ones. Of 16-bit x for few bytes.
  if constexpr (!kTied && sizeof(State) == 4) {
    constexpr bool kShort = sizeof(T) < 4;
    const bool crowds = kShort ? bytes <= kFewBytes : bytes > kFewBytes && bytes <= kSomeBytes;
    if (vectors > 2 && vectors <= 4 && crowds)
      return launch.template operator()<Rows<T, State, kTied, 4, 1, kShort ? 1 : 2>, 5>();
  }
  if (vectors <= 4)
    return bytes <= kFewBytes
               ? launch.template operator()<Rows<T, State, kTied, 4, 1, 1>>()
               : launch.template
                 operator()<Rows<T, State, kTied, 4, 1, sizeof(State) == 4 ? 4 : kMost>>();
  if (vectors <= 8) return launch.template operator()<Rows<T, State, kTied, 8, 1, kMost>>();
  if (vectors <= 16) return launch.template operator()<Rows<T, State, kTied, 16, 1, kMost>>();
  if (vectors <= 32)
    return bytes <= kFewBytes ? launch.template operator()<Rows<T, State, kTied, 32, 1, 2>>()
                              : launch.template operator()<Rows<T, State, kTied, 32, 1, kMost>>();
  return bytes <= kFewBytes ? launch.template operator()<Rows<T, State, kTied, 32, 2, 1>>()
                            : launch.template operator()<Rows<T, State, kTied, 32, 2, kMost / 2>>();
}

Decline why_not(const SelectiveStateUpdate::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.has_initial_states) return why::kInitialStates;
  if (p.ntokens != 1) return why::kLong;
  if (p.has_snapshots) return why::kCheckpoints;
  if (p.state_dtype != DType::kF32 && p.state_dtype != p.dtype) return why::kStateDtype;
  const int64_t width = 16 / size_of(p.state_dtype);
  if (p.dstate == 0 || p.dstate % width != 0 || p.dstate > 64 * width) return why::kDstate;
  if (!p.dense || p.nheads > kMostBlocks || p.nslots == 0) return why::kLayout;
  return {};
}

// Rows of dense tensors that vectors cannot read: an odd address or an odd stride.
bool in_vectors(const SelectiveStateUpdate::Args& args) {
  const int64_t bytes =
      std::min<int64_t>(16, 16 / size_of(args.state.dtype) * size_of(args.B.dtype));
  const auto aligned = [](const ConstTensorView& v, int64_t to) {
    return v.stride[v.rank - 1] == 1 && aligned_rows(v, v.rank - 1, to);
  };
  return aligned(args.state, 16) && aligned(args.B, bytes) && aligned(args.C, bytes) &&
         (SelectiveStateUpdate::describe(args).tied || aligned(args.A, 16));
}

Status run(const SelectiveStateUpdate::Args& args, const Launch& launch) {
  if (!in_vectors(args) || !TokenArgs::fit(args)) return any_view.run(args, launch);
  return with_types(args, [&]<class T, class State, bool kTied>() {
    return launch_lanes<T, State, kTied>(args, stream_of(launch));
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
