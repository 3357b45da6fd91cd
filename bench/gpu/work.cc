// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "work.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace hiss::bench {
namespace {

using nlohmann::json;

int64_t size(const json& work, const char* name) { return work.at(name).get<int64_t>(); }
DType dtype_of(const json& work) {
  return work.at("dtype").get<std::string>() == "BF16" ? DType::kBF16 : DType::kF32;
}
Precision precision_of(const json& work) {
  return dtype_of(work) == DType::kF32 ? Precision::kStandard : Precision::kFast;
}

// -1 ... -dstate for each row, disturbed: what trained models have.
std::vector<float> minus_integers(int64_t rows, int64_t dstate) {
  std::mt19937 random(2);
  std::normal_distribution<float> disturbance(0.0f, 0.1f);
  std::vector<float> A;
  for (int64_t i = 0; i < rows * dstate; ++i)
    A.push_back(-static_cast<float>(i % dstate + 1) * std::exp(disturbance(random)));
  return A;
}
// Of each head, between -1 and -16.
std::vector<float> heads_decay(int64_t nheads) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> exponent(0.0f, std::log(16.0f));
  std::vector<float> A;
  for (int64_t i = 0; i < nheads; ++i) A.push_back(-std::exp(exponent(random)));
  return A;
}

// (batch, dim, seqlen) memory seen as (batch, seqlen, dim).
template <class View>
View exchanged(View view) {
  std::swap(view.shape[1], view.shape[2]);
  std::swap(view.stride[1], view.stride[2]);
  return view;
}

// (rows) seen as (rows, count), or with an axis in front, by broadcasting.
TensorView broadcast_last(TensorView view, int64_t count) {
  view.shape[view.rank] = count, view.stride[view.rank] = 0;
  ++view.rank;
  return view;
}

template <class View>
View last(View view) {
  return view.present() ? part(view, 0, view.shape[0] - 1, 1) : view;
}

}  // namespace

template <>
CausalConv1d::Args make_args<CausalConv1d>(const json& work, DeviceTensors& t) {
  const int64_t batch = size(work, "batch"), seqlen = size(work, "seqlen");
  const int64_t dim = size(work, "dim"), width = size(work, "width");
  const DType dtype = dtype_of(work);
  CausalConv1d::Args a;
  if (work.at("layout") == "channels_first") {
    a.x = exchanged(t.normal(dtype, {batch, dim, seqlen}));
    a.y = exchanged(t.unwritten(dtype, {batch, dim, seqlen}));
  } else {
    a.x = t.normal(dtype, {batch, seqlen, dim});
    a.y = t.unwritten(dtype, {batch, seqlen, dim});
  }
  a.weight = t.normal(DType::kF32, {dim, width}, 0.0f, 0.5f);
  a.bias = t.normal(DType::kF32, {dim});
  a.activation = Activation::kSilu;
  a.precision = precision_of(work), a.device = Device::kCuda;
  return a;
}

template <>
CausalConv1dUpdate::Args make_args<CausalConv1dUpdate>(const json& work, DeviceTensors& t) {
  const int64_t batch = size(work, "batch"), ntokens = size(work, "ntokens");
  const int64_t dim = size(work, "dim"), width = size(work, "width");
  const DType dtype = dtype_of(work);
  CausalConv1dUpdate::Args a;
  a.x = t.normal(dtype, {batch, ntokens, dim}), a.y = t.unwritten(dtype, {batch, ntokens, dim});
  a.weight = t.normal(DType::kF32, {dim, width}, 0.0f, 0.5f);
  a.bias = t.normal(DType::kF32, {dim});
  a.state = t.normal(DType::kF32, {batch, width - 1, dim});
  a.activation = Activation::kSilu;
  a.precision = precision_of(work), a.device = Device::kCuda;
  return a;
}

template <>
SelectiveScan::Args make_args<SelectiveScan>(const json& work, DeviceTensors& t) {
  const int64_t batch = size(work, "batch"), seqlen = size(work, "seqlen");
  const int64_t dim = size(work, "dim"), dstate = size(work, "dstate");
  const int64_t ngroups = size(work, "ngroups");
  const DType dtype = dtype_of(work);
  SelectiveScan::Args a;
  a.u = t.normal(dtype, {batch, seqlen, dim}), a.z = t.normal(dtype, {batch, seqlen, dim});
  a.dt = t.normal(dtype, {batch, seqlen, dim}, -3.0f);
  a.dt_bias = t.normal(DType::kF32, {dim}, -1.0f, 0.3f);
  a.A = t.from_host(minus_integers(dim, dstate), {dim, dstate});
  a.D = t.normal(DType::kF32, {dim}, 1.0f, 0.1f);
  a.B = t.normal(dtype, {batch, seqlen, ngroups, dstate});
  a.C = t.normal(dtype, {batch, seqlen, ngroups, dstate});
  a.y = t.unwritten(dtype, {batch, seqlen, dim});
  a.dt_softplus = true;
  a.precision = precision_of(work), a.device = Device::kCuda;
  return a;
}

template <>
SsdChunkScan::Args make_args<SsdChunkScan>(const json& work, DeviceTensors& t) {
  const int64_t batch = size(work, "batch"), seqlen = size(work, "seqlen");
  const int64_t nheads = size(work, "nheads"), headdim = size(work, "headdim");
  const int64_t dstate = size(work, "dstate"), ngroups = size(work, "ngroups");
  const DType dtype = dtype_of(work);
  SsdChunkScan::Args a;
  a.x = t.normal(dtype, {batch, seqlen, nheads, headdim});
  a.y = t.unwritten(dtype, {batch, seqlen, nheads, headdim});
  a.dt = t.normal(dtype, {batch, seqlen, nheads}, -3.0f);
  a.dt_bias = t.normal(DType::kF32, {nheads}, -1.0f, 0.3f);
  a.A = t.from_host(heads_decay(nheads), {nheads});
  a.D = t.normal(DType::kF32, {nheads}, 1.0f, 0.1f);
  a.B = t.normal(dtype, {batch, seqlen, ngroups, dstate});
  a.C = t.normal(dtype, {batch, seqlen, ngroups, dstate});
  a.final_states = t.unwritten(DType::kF32, {batch, nheads, headdim, dstate});
  a.dt_softplus = true;
  a.precision = precision_of(work), a.device = Device::kCuda;
  return a;
}

template <>
SelectiveStateUpdate::Args make_args<SelectiveStateUpdate>(const json& work, DeviceTensors& t) {
  const int64_t batch = size(work, "batch"), ntokens = size(work, "ntokens");
  const int64_t dstate = size(work, "dstate"), ngroups = size(work, "ngroups");
  int64_t nheads = size(work, "nheads"), headdim = size(work, "headdim");
  const bool tied = work.at("tied").get<bool>();
  if (!tied) headdim *= nheads, nheads = 1;  // Mamba-1: one head that has all channels
  const DType dtype = dtype_of(work);
  SelectiveStateUpdate::Args a;
  a.x = t.normal(dtype, {batch, ntokens, nheads, headdim});
  a.y = t.unwritten(dtype, {batch, ntokens, nheads, headdim});
  if (tied) {
    a.dt = broadcast_last(t.normal(dtype, {batch, ntokens, nheads}, -3.0f), headdim);
    a.dt_bias = broadcast_last(t.normal(DType::kF32, {nheads}, -1.0f, 0.3f), headdim);
    a.D = broadcast_last(t.normal(DType::kF32, {nheads}, 1.0f, 0.1f), headdim);
    a.A =
        broadcast_last(broadcast_last(t.from_host(heads_decay(nheads), {nheads}), headdim), dstate);
  } else {
    a.dt = t.normal(dtype, {batch, ntokens, nheads, headdim}, -3.0f);
    a.dt_bias = t.normal(DType::kF32, {nheads, headdim}, -1.0f, 0.3f);
    a.D = t.normal(DType::kF32, {nheads, headdim}, 1.0f, 0.1f);
    a.A = t.from_host(minus_integers(nheads * headdim, dstate), {nheads, headdim, dstate});
  }
  a.B = t.normal(dtype, {batch, ntokens, ngroups, dstate});
  a.C = t.normal(dtype, {batch, ntokens, ngroups, dstate});
  a.state = t.normal(DType::kF32, {batch, nheads, headdim, dstate});
  a.dt_softplus = true;
  a.precision = precision_of(work), a.device = Device::kCuda;
  return a;
}

CausalConv1d::Args sample_of(CausalConv1d::Args a) {
  const int64_t count = std::min<int64_t>(16, a.x.shape[2]), from = a.x.shape[2] - count;
  a.x = part(last(a.x), 2, from, count), a.y = part(last(a.y), 2, from, count);
  a.weight = part(a.weight, 0, from, count), a.bias = part(a.bias, 0, from, count);
  return a;
}

CausalConv1dUpdate::Args sample_of(CausalConv1dUpdate::Args a) {
  a.x = last(a.x), a.y = last(a.y), a.state = last(a.state);
  return a;
}

SelectiveScan::Args sample_of(SelectiveScan::Args a) {
  const int64_t count = std::min<int64_t>(8, a.u.shape[2]), from = a.u.shape[2] - count;
  for (ConstTensorView* v : {&a.u, &a.dt, &a.z}) *v = part(last(*v), 2, from, count);
  a.y = part(last(a.y), 2, from, count);
  for (ConstTensorView* v : {&a.A, &a.D, &a.dt_bias}) *v = part(*v, 0, from, count);
  for (ConstTensorView* v : {&a.B, &a.C}) *v = part(last(*v), 2, v->shape[2] - 1, 1);
  return a;
}

SsdChunkScan::Args sample_of(SsdChunkScan::Args a) {
  const int64_t head = a.x.shape[2] - 1, rows = std::min<int64_t>(4, a.x.shape[3]);
  a.x = part(part(last(a.x), 2, head, 1), 3, 0, rows);
  a.y = part(part(last(a.y), 2, head, 1), 3, 0, rows);
  a.final_states = part(part(last(a.final_states), 1, head, 1), 2, 0, rows);
  a.dt = part(last(a.dt), 2, head, 1);
  for (ConstTensorView* v : {&a.A, &a.D, &a.dt_bias}) *v = part(*v, 0, head, 1);
  for (ConstTensorView* v : {&a.B, &a.C}) *v = part(last(*v), 2, v->shape[2] - 1, 1);
  return a;
}

SelectiveStateUpdate::Args sample_of(SelectiveStateUpdate::Args a) {
  for (ConstTensorView* v : {&a.x, &a.dt, &a.B, &a.C}) *v = last(*v);
  a.y = last(a.y), a.state = last(a.state);
  return a;
}

}  // namespace hiss::bench
