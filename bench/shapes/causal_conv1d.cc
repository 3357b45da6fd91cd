// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "shapes.h"

namespace hiss::bench {
namespace {

constexpr int64_t kWidth = 4;

CausalConv1d::Args make(Tensors& t, int64_t batch, int64_t seqlen, int64_t dim) {
  CausalConv1d::Args args;
  args.x = t.normal({batch, seqlen, dim}), args.y = t.normal({batch, seqlen, dim});
  args.weight = t.normal({dim, kWidth}, 0.0f, 0.5f), args.bias = t.normal({dim});
  args.activation = Activation::kSilu;
  return args;
}

// (batch, dim, seqlen) in memory.
CausalConv1d::Args make_channels_first(Tensors& t, int64_t batch, int64_t seqlen, int64_t dim) {
  CausalConv1d::Args args = make(t, batch, dim, seqlen);
  const auto exchange = [](auto& view) {
    std::swap(view.shape[1], view.shape[2]);
    std::swap(view.stride[1], view.stride[2]);
  };
  exchange(args.x), exchange(args.y);
  args.weight = t.normal({dim, kWidth}, 0.0f, 0.5f), args.bias = t.normal({dim});
  return args;
}

CausalConv1dUpdate::Args make_update(Tensors& t, int64_t dim) {
  CausalConv1dUpdate::Args args;
  args.x = t.normal({1, 1, dim}), args.y = t.normal({1, 1, dim});
  args.weight = t.normal({dim, kWidth}, 0.0f, 0.5f), args.bias = t.normal({dim});
  args.state = t.normal({1, kWidth - 1, dim});
  args.activation = Activation::kSilu;
  return args;
}

// Products, and bias, exponential and division of SiLU.
double multiply_adds(const ConstTensorView& x, const ConstTensorView& weight) {
  return static_cast<double>(x.elements()) * (static_cast<double>(weight.shape[1]) + 12);
}

}  // namespace

template <>
std::vector<Shape<CausalConv1d>> shapes<CausalConv1d>(bool quick) {
  std::vector<Shape<CausalConv1d>> all;
  const auto add = [&](const std::string& name, int64_t batch, int64_t seqlen, int64_t dim) {
    if (quick && batch > 1) batch = std::max<int64_t>(2, batch / 16);
    if (quick) seqlen = std::min<int64_t>(seqlen, 128);
    all.push_back({name, [=](Tensors& t) { return make(t, batch, seqlen, dim); }});
    if (batch == 1)
      all.push_back({name + "_channels_first",
                     [=](Tensors& t) { return make_channels_first(t, batch, seqlen, dim); }});
  };
  add("mamba_130m", 1, 512, 1536);
  add("granite_4_h_tiny", 1, 512, 3328);
  add("falcon_h1_7b", 1, 512, 3584);
  add("mamba2_2.7b", 1, 512, 5376);
  add("falcon_mamba_7b", 1, 512, 8192), add("falcon_mamba_7b_934", 1, 934, 8192);
  add("nemotron_nano_9b_v2", 1, 512, 12288);
  add("re_use_16k_time", 161, 251, 256), add("re_use_16k_frequency", 251, 161, 256);
  add("re_use_48k_time", 481, 251, 256), add("re_use_48k_frequency", 251, 481, 256);
  add("re_use_one_sequence", 1, 161, 256);
  return all;
}

template <>
std::vector<Shape<CausalConv1dUpdate>> shapes<CausalConv1dUpdate>(bool) {
  std::vector<Shape<CausalConv1dUpdate>> all;
  for (const auto& [name, dim] : {std::pair{"granite_4_h_tiny_decode", 3328},
                                  {"falcon_mamba_7b_decode", 8192},
                                  {"nemotron_nano_9b_v2_decode", 12288}})
    all.push_back({name, [dim = dim](Tensors& t) { return make_update(t, dim); }});
  return all;
}

Work work_of(const CausalConv1d::Args& a) {
  return {.multiply_adds = multiply_adds(a.x, a.weight), .bytes = bytes_of(a.x, a.y)};
}
Work work_of(const CausalConv1dUpdate::Args& a) {
  const double once = bytes_of(a.x, a.y, a.weight, a.bias, a.state);
  return {.multiply_adds = multiply_adds(a.x, a.weight),
          .bytes = once + bytes_of(a.state),
          .footprint = once};
}

}  // namespace hiss::bench
