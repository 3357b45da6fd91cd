// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Decode step of the convolution: a thread has a pair of channels of one row, whose state passes
// through its registers once whatever the number of tokens.
//
// Parallel over (row, vector of channels). Bound by the memory the state comes from, or by the
// launch for few rows: docs/kernels/causal_conv1d_cuda.md.
//
// Serves strict: each output is bias + w[0] x + w[1] x + ... in this order.

#include "cuda/launch.h"
#include "cuda/tile/divide.cuh"
#include "cuda/tile/element.cuh"
#include "cuda/tile/math.cuh"
#include "cuda/tile/overlap.cuh"
#include "hiss/ops/causal_conv1d_update.h"

namespace hiss::cuda {
namespace {

constexpr std::string_view kName = "causal_conv1d_update/cuda.sm80.lanes_over_dim";
constexpr int kThreads = 128;

struct Update {
  const void* x;
  void* y;
  const float *weight, *bias;
  float *state, *snapshots;
  const int32_t* indices;
  int64_t batch, ntokens, dim, width, nslots;
  int64_t x_stride[3], y_stride[3], weight_stride[2], bias_stride, index_stride, state_stride[3],
      snapshot_stride[4];
  bool silu;
  bool packed_taps;  // a channel's four taps are one aligned vector
};

Update update_of(const CausalConv1dUpdate::Args& a) {
  Update u{};
  u.x = a.x.data, u.y = a.y.data, u.weight = a.weight.as<float>(), u.bias = a.bias.as<float>();
  u.state = a.state.as<float>(), u.snapshots = a.snapshots.as<float>();
  u.indices = a.state_indices.as<int32_t>();
  u.batch = a.x.shape[0], u.ntokens = a.x.shape[1], u.dim = a.x.shape[2];
  u.width = a.weight.shape[1], u.nslots = a.state.shape[0];
  for (int i = 0; i < 3; ++i) {
    u.x_stride[i] = a.x.stride[i], u.y_stride[i] = a.y.stride[i];
    u.state_stride[i] = a.state.stride[i];
  }
  for (int i = 0; i < 4; ++i) u.snapshot_stride[i] = a.snapshots.stride[i];
  u.weight_stride[0] = a.weight.stride[0], u.weight_stride[1] = a.weight.stride[1];
  u.bias_stride = a.bias.stride[0], u.index_stride = a.state_indices.stride[0];
  u.silu = a.activation == Activation::kSilu;
  u.packed_taps = u.width == 4 && u.weight_stride[0] == 4 && u.weight_stride[1] == 1 &&
                  reinterpret_cast<uintptr_t>(u.weight) % 16 == 0;
  return u;
}

// One row's vector of channels, at its first element. No state: padding.
template <class T>
struct Row {
  const T* x;
  T* y;
  float *state, *snapshot;
};

template <class T>
__device__ Row<T> row_of(const Update& u, int64_t row, int64_t channel) {
  const int64_t slot = u.indices == nullptr ? row : u.indices[row * u.index_stride];
  // Negative: padding. Too large can only be a broken list.
  const bool padding = slot < 0 || slot >= u.nslots;
  return {static_cast<const T*>(u.x) + row * u.x_stride[0] + channel * u.x_stride[2],
          static_cast<T*>(u.y) + row * u.y_stride[0] + channel * u.y_stride[2],
          padding ? nullptr : u.state + slot * u.state_stride[0] + channel * u.state_stride[2],
          u.snapshots == nullptr
              ? nullptr
              : u.snapshots + row * u.snapshot_stride[0] + channel * u.snapshot_stride[3]};
}

template <int kVector, class T>
__device__ __forceinline__ void load_token(const T* from, float (&to)[kVector]) {
  const auto raw = Raw<T, kVector>::at(from);
#pragma unroll
  for (int v = 0; v < kVector; ++v) to[v] = raw[v];
}

// Width known: the state in registers. Vectors of more than one channel are dense.
template <class T, int kVector, int kWidth>
class Filter {
 public:
  __device__ Filter(const Update& u, int64_t channel) : u_(u) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      bias_[v] = u.bias == nullptr ? 0.0f : u.bias[(channel + v) * u.bias_stride];
      const float* weight = u.weight + (channel + v) * u.weight_stride[0];
      if constexpr (kWidth == 4) {
        if (u.packed_taps) {
          load_pack<kWidth>(weight, tap_[v]);
          continue;
        }
      }
#pragma unroll
      for (int k = 0; k < kWidth; ++k) tap_[v][k] = weight[k * u.weight_stride[1]];
    }
  }

  // `input`: the state and the first token.
  __device__ __forceinline__ void run(const Row<T>& r, float (&input)[kWidth][kVector]) {
    constexpr int kHistory = kWidth - 1;
    for (int64_t t = 0; t < u_.ntokens; ++t) {
      if (t > 0) load_token<kVector>(r.x + t * u_.x_stride[1], input[kHistory]);
      float sum[kVector];
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        sum[v] = bias_[v];
#pragma unroll
        for (int k = 0; k < kWidth; ++k) sum[v] = fmaf(tap_[v][k], input[k][v], sum[v]);
        const float gated = silu(sum[v]);
        if (u_.silu) sum[v] = gated;
      }
      Raw<T, kVector>::of(sum).store(r.y + t * u_.y_stride[1]);
#pragma unroll
      for (int j = 0; j < kHistory; ++j) {
#pragma unroll
        for (int v = 0; v < kVector; ++v) input[j][v] = input[j + 1][v];
        if (r.snapshot != nullptr)
          Raw<float, kVector>::of(input[j]).store(r.snapshot + t * u_.snapshot_stride[1] +
                                                  j * u_.snapshot_stride[2]);
      }
    }
#pragma unroll
    for (int j = 0; j < kHistory; ++j)
      Raw<float, kVector>::of(input[j]).store(r.state + j * u_.state_stride[1]);
  }

 private:
  const Update& u_;
  float tap_[kVector][kWidth], bias_[kVector];
};

template <class T, int kVector>
__device__ __forceinline__ void clear_row(const Update& u, const Row<T>& r) {
  const float zero[kVector] = {};
  for (int64_t t = 0; t < u.ntokens; ++t) Raw<T, kVector>::of(zero).store(r.y + t * u.y_stride[1]);
}

template <class T, int kVector, int kWidth>
__global__ void __launch_bounds__(kThreads)
    conv_update(const __grid_constant__ Update u, const __grid_constant__ Divider by_vector) {
  wait_for_kernels_before();
  let_next_kernel_start();
  const int64_t item = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  int64_t vector;
  const int64_t row = by_vector.divide(item, vector), channel = vector * kVector;
  if (row >= u.batch) return;
  const Row<T> r = row_of<T>(u, row, channel);
  if (r.state == nullptr) return clear_row<T, kVector>(u, r);
  // Loads of the state first: the filter is in the cache.
  float input[kWidth][kVector];
#pragma unroll
  for (int j = 0; j < kWidth - 1; ++j) load_pack(r.state + j * u.state_stride[1], input[j]);
  load_token<kVector>(r.x, input[kWidth - 1]);
  Filter<T, kVector, kWidth>(u, channel).run(r, input);
}

// Any width: inputs are read again from where they lie.
template <class T>
__global__ void __launch_bounds__(kThreads)
    conv_update_any_width(const __grid_constant__ Update u) {
  const int64_t item = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (item >= u.batch * u.dim) return;
  const int64_t channel = item % u.dim, history = u.width - 1;
  const Row<T> r = row_of<T>(u, item / u.dim, channel);
  if (r.state == nullptr) return clear_row<T, 1>(u, r);
  const auto input = [&](int64_t i) {  // i < 0: before these tokens
    return i < 0 ? r.state[(history + i) * u.state_stride[1]] : to_float(r.x[i * u.x_stride[1]]);
  };
  for (int64_t t = 0; t < u.ntokens; ++t) {
    float sum = u.bias == nullptr ? 0.0f : u.bias[channel * u.bias_stride];
    for (int64_t k = 0; k < u.width; ++k)
      sum = fmaf(u.weight[channel * u.weight_stride[0] + k * u.weight_stride[1]],
                 input(t - history + k), sum);
    r.y[t * u.y_stride[1]] = from_float<T>(u.silu ? silu(sum) : sum);
    if (r.snapshot == nullptr) continue;
    for (int64_t j = 0; j < history; ++j)
      r.snapshot[t * u.snapshot_stride[1] + j * u.snapshot_stride[2]] = input(t + 1 - history + j);
  }
  // Row j comes from row j or a later one.
  for (int64_t j = 0; j < history; ++j)
    r.state[j * u.state_stride[1]] = input(u.ntokens - history + j);
}

Decline why_not(const CausalConv1dUpdate::Problem&, const Machine& machine) {
  return machine.cuda_sm < 80 ? why::kDevice : Decline();
}

template <class T, int kVector, int kWidth>
Status launch_update(const Update& u, cudaStream_t stream) {
  const int64_t vectors = u.dim / kVector, blocks = ceil_div(u.batch * vectors, kThreads);
  start_overlapped(conv_update<T, kVector, kWidth>, static_cast<unsigned>(blocks), kThreads, 0,
                   stream, u, Divider(vectors));
  return launched(kName);
}

template <class T, int kVector>
Status launch_width(const Update& u, cudaStream_t stream) {
  switch (u.width) {
    case 2:
      return launch_update<T, kVector, 2>(u, stream);
    case 3:
      return launch_update<T, kVector, 3>(u, stream);
    default:
      return launch_update<T, kVector, 4>(u, stream);
  }
}

Status run(const CausalConv1dUpdate::Args& args, const Launch& launch) {
  const Update u = update_of(args);
  const cudaStream_t stream = stream_of(launch);
  constexpr int kVector = 2;
  const auto fits = [](const ConstTensorView& view) {
    const int channels = view.rank - 1;
    return !view.present() || (view.stride[channels] == 1 &&
                               aligned_rows(view, channels, kVector * size_of(view.dtype)));
  };
  const bool wide = u.dim % kVector == 0 && fits(args.x) && fits(args.y) && fits(args.state) &&
                    fits(args.snapshots);
  if (u.batch * u.dim * u.ntokens == 0) return {};
  return with_element(args.x.dtype, [&]<class T>() {
    if (u.width < 2 || u.width > 4) {
      const int64_t blocks = ceil_div(u.batch * u.dim, kThreads);
      conv_update_any_width<T><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(u);
      return launched(kName);
    }
    return wide ? launch_width<T, kVector>(u, stream) : launch_width<T, 1>(u, stream);
  });
}

}  // namespace

namespace causal_conv1d_update {
extern constinit const Kernel<CausalConv1dUpdate> lanes_over_dim;
constinit const Kernel<CausalConv1dUpdate> lanes_over_dim{.name = kName,
                                                          .why_not = why_not,
                                                          .workspace_bytes = nullptr,
                                                          .run = run,
                                                          .device = Device::kCuda};
}  // namespace causal_conv1d_update
}  // namespace hiss::cuda
