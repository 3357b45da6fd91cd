// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The cases of cases.py, on which the peers are timed too.

#include <nlohmann/json.hpp>

#include "shapes.h"

namespace hiss::bench {
namespace {

using nlohmann::json;

int64_t size(const json& work, const char* name) { return work.at(name).get<int64_t>(); }
DType dtype_of(const json& work, const char* name = "dtype") {
  return work.at(name) == "BF16" ? DType::kBF16 : DType::kF32;
}
Precision precision_of(const json& work) {
  return dtype_of(work) == DType::kF32 ? Precision::kStandard : Precision::kFast;
}

void make(const json& work, DeviceSet& set, CausalConv1d::Args& a) {
  const Place place = work.at("layout") == "channels_first" ? Place::kChannelsFirst : Place::kDense;
  const int64_t batch = size(work, "batch"), seqlen = size(work, "seqlen");
  const int64_t dim = size(work, "dim");
  a.x = set.input(dtype_of(work), {batch, seqlen, dim}, normal(), place);
  a.weight = set.input(DType::kF32, {dim, size(work, "width")}, normal(0.5));
  a.bias = set.input(DType::kF32, {dim}, normal(0.3));
  a.y = set.output(dtype_of(work), {batch, seqlen, dim}, place);
  a.activation = Activation::kSilu;
}

void make(const json& work, DeviceSet& set, CausalConv1dUpdate::Args& a) {
  const int64_t batch = size(work, "batch"), ntokens = size(work, "ntokens");
  const int64_t dim = size(work, "dim"), width = size(work, "width");
  a.x = set.input(dtype_of(work), {batch, ntokens, dim}, normal());
  a.weight = set.input(DType::kF32, {dim, width}, normal(0.5));
  a.bias = set.input(DType::kF32, {dim}, normal(0.3));
  a.state = set.state(DType::kF32, {batch, width - 1, dim}, normal());
  a.y = set.output(dtype_of(work), {batch, ntokens, dim});
  a.activation = Activation::kSilu;
}

void make(const json& work, DeviceSet& set, SelectiveScan::Args& a) {
  const DType dtype = dtype_of(work);
  const int64_t batch = size(work, "batch"), seqlen = size(work, "seqlen");
  const int64_t dim = size(work, "dim"), dstate = size(work, "dstate");
  const int64_t ngroups = size(work, "ngroups");
  a.u = set.input(dtype, {batch, seqlen, dim}, normal());
  a.z = set.input(dtype, {batch, seqlen, dim}, normal());
  a.dt = set.input(dtype, {batch, seqlen, dim}, normal(1, -3));
  a.A = set.input(DType::kF32, {dim, dstate}, uniform(-16, -1));
  a.B = set.input(dtype, {batch, seqlen, ngroups, dstate}, normal());
  a.C = set.input(dtype, {batch, seqlen, ngroups, dstate}, normal());
  a.D = set.input(DType::kF32, {dim}, normal(0.1, 1));
  a.dt_bias = set.input(DType::kF32, {dim}, normal(0.3, -1));
  a.y = set.output(dtype, {batch, seqlen, dim});
  a.dt_softplus = true;
}

void make(const json& work, DeviceSet& set, SsdChunkScan::Args& a) {
  const DType dtype = dtype_of(work);
  const int64_t batch = size(work, "batch"), seqlen = size(work, "seqlen");
  const int64_t nheads = size(work, "nheads"), headdim = size(work, "headdim");
  const int64_t dstate = size(work, "dstate"), ngroups = size(work, "ngroups");
  a.x = set.input(dtype, {batch, seqlen, nheads, headdim}, normal());
  a.dt = set.input(dtype, {batch, seqlen, nheads}, normal(1, -3));
  a.A = set.input(DType::kF32, {nheads}, uniform(-16, -1));
  a.B = set.input(dtype, {batch, seqlen, ngroups, dstate}, normal());
  a.C = set.input(dtype, {batch, seqlen, ngroups, dstate}, normal());
  a.D = set.input(DType::kF32, {nheads}, normal(0.1, 1));
  a.dt_bias = set.input(DType::kF32, {nheads}, normal(0.3, -1));
  a.final_states = set.output(dtype_of(work, "state_dtype"), {batch, nheads, headdim, dstate});
  a.y = set.output(dtype, {batch, seqlen, nheads, headdim});
  a.dt_softplus = true;
}

void make(const json& work, DeviceSet& set, SelectiveStateUpdate::Args& a) {
  const DType dtype = dtype_of(work);
  const int64_t batch = size(work, "batch"), ntokens = size(work, "ntokens");
  const int64_t nheads = size(work, "nheads"), headdim = size(work, "headdim");
  const int64_t dstate = size(work, "dstate"), ngroups = size(work, "ngroups");
  const bool tied = work.at("tied").get<bool>();
  const int64_t rows = tied ? 1 : headdim, states = tied ? 1 : dstate;
  a.x = set.input(dtype, {batch, ntokens, nheads, headdim}, normal());
  a.dt = set.input(dtype, {batch, ntokens, nheads, rows}, normal(1, -3));
  a.A = set.input(DType::kF32, {nheads, rows, states}, uniform(-16, -1));
  a.D = set.input(DType::kF32, {nheads, rows}, normal(0.1, 1));
  a.dt_bias = set.input(DType::kF32, {nheads, rows}, normal(0.3, -1));
  if (tied) {
    a.dt.shape[3] = a.A.shape[1] = a.D.shape[1] = a.dt_bias.shape[1] = headdim;
    a.dt.stride[3] = a.A.stride[1] = a.D.stride[1] = a.dt_bias.stride[1] = 0;
    a.A.shape[2] = dstate, a.A.stride[2] = 0;
  }
  a.B = set.input(dtype, {batch, ntokens, ngroups, dstate}, normal());
  a.C = set.input(dtype, {batch, ntokens, ngroups, dstate}, normal());
  a.state = set.state(DType::kF32, {batch, nheads, headdim, dstate}, normal());
  a.y = set.output(dtype, {batch, ntokens, nheads, headdim});
  a.dt_softplus = true;
}

}  // namespace

template <class Op>
std::vector<GpuShape<Op>> shapes_of_file(const json& cases) {
  std::vector<GpuShape<Op>> shapes;
  for (const json& work : cases) {
    if (work.at("operator") != Op::kName) continue;
    shapes.push_back({work.at("case").get<std::string>(), [work](DeviceSet& set) {
                        typename Op::Args args;
                        make(work, set, args);
                        args.precision = precision_of(work), args.device = Device::kCuda;
                        return args;
                      }});
  }
  return shapes;
}
template std::vector<GpuShape<CausalConv1d>> shapes_of_file(const json&);
template std::vector<GpuShape<CausalConv1dUpdate>> shapes_of_file(const json&);
template std::vector<GpuShape<SelectiveScan>> shapes_of_file(const json&);
template std::vector<GpuShape<SsdChunkScan>> shapes_of_file(const json&);
template std::vector<GpuShape<SelectiveStateUpdate>> shapes_of_file(const json&);

}  // namespace hiss::bench
