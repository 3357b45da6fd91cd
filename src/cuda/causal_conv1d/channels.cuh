// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/causal_conv1d/filter.cuh"

namespace hiss::cuda {

// A thread's vector of channels of channels-last tensors: the filter, and the inputs before the
// next token.
template <class T, int kVector, int kWidth>
class Channels {
 public:
  static constexpr int kHistory = kWidth - 1;
  using Vector = Raw<T, kVector>;

  __device__ __forceinline__ Channels(const Conv& conv, int64_t channel) : channel_(channel) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) load_taps<kWidth>(conv, channel + v, tap_[v]);
    if constexpr (kVector == 4) {
      if (conv.packed_bias) {
        load_pack(conv.bias + channel, bias_);
        return;
      }
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) bias_[v] = bias_of(conv, channel + v);
  }
  // `before`: the last kHistory inputs.
  __device__ __forceinline__ void begin(const Vector* before) {
#pragma unroll
    for (int j = 0; j < kHistory; ++j)
#pragma unroll
      for (int v = 0; v < kVector; ++v) history_[j][v] = before[j][v];
  }
  // The inputs before the first token of a sequence whose next token is its `next`-th.
  struct Inputs {
    float row[kHistory][kVector];
  };
  __device__ __forceinline__ static void load_earlier(const Conv& conv, int64_t channel, int64_t s,
                                                      int next, Inputs& inputs) {
#pragma unroll
    for (int j = 0; j < kHistory; ++j) {
#pragma unroll
      for (int v = 0; v < kVector; ++v) inputs.row[j][v] = 0.0f;
      if (next + j >= kHistory || conv.initial == nullptr) continue;
      const float* from = conv.initial + s * conv.initial_stride[0] +
                          (next + j) * conv.initial_stride[1] + channel * conv.initial_stride[2];
      if (conv.dense_states) {
        load_pack(from, inputs.row[j]);
      } else {
#pragma unroll
        for (int v = 0; v < kVector; ++v) inputs.row[j][v] = from[v * conv.initial_stride[2]];
      }
    }
  }
  __device__ __forceinline__ void put_earlier(int next, const Inputs& inputs) {
#pragma unroll
    for (int j = 0; j < kHistory; ++j)
      if (next + j < kHistory) {
#pragma unroll
        for (int v = 0; v < kVector; ++v) history_[j][v] = inputs.row[j][v];
      }
  }
  // The final state of a sequence whose last token was put.
  __device__ __forceinline__ void store_history(const Conv& conv, int64_t s) const {
#pragma unroll
    for (int j = 0; j < kHistory; ++j) {
      float* to = conv.final + s * conv.final_stride[0] + j * conv.final_stride[1] +
                  channel_ * conv.final_stride[2];
      if (conv.dense_states) {
        Raw<float, kVector>::of(history_[j]).store(to);
      } else {
#pragma unroll
        for (int v = 0; v < kVector; ++v) to[v * conv.final_stride[2]] = history_[j][v];
      }
    }
  }
  template <bool kSilu>
  __device__ __forceinline__ void put(const Vector& newest, T* y, bool wanted) {
    float result[kVector];
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      float input[kWidth];
#pragma unroll
      for (int k = 0; k < kHistory; ++k) input[k] = history_[k][v];
      input[kHistory] = newest[v];
      result[v] = output_of<kSilu>(tap_[v], bias_[v], input);
#pragma unroll
      for (int k = 0; k < kHistory; ++k) history_[k][v] = input[k + 1];
    }
    if (wanted) Vector::of(result).store(y);
  }

 private:
  const int64_t channel_;
  float tap_[kVector][kWidth], bias_[kVector], history_[kHistory][kVector];
};

// final_state of a whole row by the thread that has read its initial_state, which may be its
// memory.
template <class T, int kVector, int kWidth>
__device__ void store_final(const Conv& conv, const Span& span, int64_t channel) {
  for (int j = 0; j < kWidth - 1; ++j)
    for (int v = 0; v < kVector; ++v)
      conv.final[span.s * conv.final_stride[0] + j * conv.final_stride[1] +
                 (channel + v) * conv.final_stride[2]] =
          input_at<T>(conv, span, span.end - span.begin - (kWidth - 1) + j, channel + v);
}

}  // namespace hiss::cuda
