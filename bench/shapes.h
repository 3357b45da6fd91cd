// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "hiss/ops/all.h"

// Operators at the sizes real models give them, dense and aligned. Work is counted for the shares
// of the machine's peaks.
namespace hiss::bench {

// Dense F32 tensors filled from one generator.
class Tensors {
 public:
  TensorView normal(std::initializer_list<int64_t> sizes, float mean = 0, float deviation = 1) {
    TensorView view(nullptr, DType::kF32, sizes);
    memory_.emplace_back(static_cast<size_t>(view.elements()) + 16);
    // A cache line apart from any page, so that no two tensors meet in one cache set.
    const auto address = reinterpret_cast<uintptr_t>(memory_.back().data());
    view.data = reinterpret_cast<float*>((address + 63) / 64 * 64);
    std::normal_distribution<float> distribution(mean, deviation);
    for (int64_t i = 0; i < view.elements(); ++i) view.as<float>()[i] = distribution(random_);
    return view;
  }

 private:
  std::mt19937 random_{1};
  std::deque<std::vector<float>> memory_;
};

template <class Op>
struct Shape {
  std::string name;
  typename Op::Args (*make)(Tensors& tensors, int64_t batch, int64_t seqlen, int64_t dim);
  int64_t batch, seqlen, dim;
};

inline SelectiveScan::Args make_scan(Tensors& t, int64_t batch, int64_t seqlen, int64_t dim) {
  constexpr int64_t kDstate = 16;
  SelectiveScan::Args args;
  args.u = t.normal({batch, seqlen, dim}), args.z = t.normal({batch, seqlen, dim});
  args.dt = t.normal({batch, seqlen, dim}, -3.0f), args.dt_bias = t.normal({dim}, -1.0f, 0.3f);
  const TensorView A = t.normal({dim, kDstate}, 0.0f, 0.1f);
  for (int64_t i = 0; i < A.elements(); ++i)  // -1 ... -16, disturbed
    A.as<float>()[i] = -static_cast<float>(i % kDstate + 1) * std::exp(A.as<float>()[i]);
  args.A = A, args.D = t.normal({dim}, 1.0f, 0.1f);
  args.B = t.normal({batch, seqlen, 1, kDstate}), args.C = t.normal({batch, seqlen, 1, kDstate});
  args.y = t.normal({batch, seqlen, dim});
  args.dt_softplus = true;
  return args;
}

inline CausalConv1d::Args make_conv(Tensors& t, int64_t batch, int64_t seqlen, int64_t dim) {
  CausalConv1d::Args args;
  args.x = t.normal({batch, seqlen, dim}), args.y = t.normal({batch, seqlen, dim});
  args.weight = t.normal({dim, 4}, 0.0f, 0.5f), args.bias = t.normal({dim});
  args.activation = Activation::kSilu;
  return args;
}

// The same memory as (batch, dim, seqlen).
inline CausalConv1d::Args make_conv_channels_first(Tensors& t, int64_t batch, int64_t seqlen,
                                                   int64_t dim) {
  CausalConv1d::Args args = make_conv(t, batch, dim, seqlen);
  const auto exchange = [](auto& view) {
    std::swap(view.shape[1], view.shape[2]);
    std::swap(view.stride[1], view.stride[2]);
  };
  exchange(args.x), exchange(args.y);
  args.weight = t.normal({dim, 4}, 0.0f, 0.5f), args.bias = t.normal({dim});
  return args;
}

template <class Op>
std::vector<Shape<Op>> shapes();
template <>
inline std::vector<Shape<SelectiveScan>> shapes<SelectiveScan>() {
  return {{"re_use_16k_time", make_scan, 161, 251, 256},
          {"re_use_16k_frequency", make_scan, 251, 161, 256},
          {"re_use_one_sequence", make_scan, 1, 161, 256},
          {"bundled_16k_time", make_scan, 161, 251, 64},
          {"mamba_130m", make_scan, 1, 512, 1536},
          {"falcon_mamba_7b", make_scan, 1, 512, 8192}};
}
template <>
inline std::vector<Shape<CausalConv1d>> shapes<CausalConv1d>() {
  return {{"re_use_16k_time", make_conv, 161, 251, 256},
          {"re_use_one_sequence", make_conv, 1, 161, 256},
          {"granite_4_h_tiny", make_conv, 1, 512, 3328},
          {"falcon_mamba_7b", make_conv, 1, 934, 8192},
          {"granite_4_h_tiny_channels_first", make_conv_channels_first, 1, 512, 3328},
          {"falcon_mamba_7b_channels_first", make_conv_channels_first, 1, 934, 8192}};
}

// What a call cannot do without: state updates, multiply-adds (the count of the documents of the
// kernels, where an exponential is a round, a reduction and a polynomial) and bytes moved once.
struct Work {
  double updates = 0, multiply_adds = 0, bytes = 0;
};
inline Work work_of(const SelectiveScan::Args& a) {
  const auto elements = static_cast<double>(a.u.elements());
  const double updates = elements * static_cast<double>(a.A.shape[1]);
  return {.updates = updates,
          .multiply_adds = 10 * updates + 31 * elements,
          .bytes = 4.0 * (4 * elements + static_cast<double>(2 * a.B.elements()))};
}
inline Work work_of(const CausalConv1d::Args& a) {
  const auto elements = static_cast<double>(a.x.elements());
  return {.multiply_adds = elements * (static_cast<double>(a.weight.shape[1]) + 12),
          .bytes = 8.0 * elements};
}

}  // namespace hiss::bench
