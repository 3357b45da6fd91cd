// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "shapes.h"

namespace hiss::bench {
namespace {

SelectiveScan::Args scan(DeviceSet& set, int64_t batch, int64_t seqlen, int64_t dim, DType dtype,
                         int64_t dstate = 16) {
  SelectiveScan::Args a;
  a.device = Device::kCuda;
  a.u = set.input(dtype, {batch, seqlen, dim}, normal());
  a.z = set.input(dtype, {batch, seqlen, dim}, normal());
  a.dt = set.input(dtype, {batch, seqlen, dim}, normal(1, -3));
  a.A = set.input(DType::kF32, {dim, dstate}, uniform(-16, -0.5));
  a.B = set.input(dtype, {batch, seqlen, 1, dstate}, normal());
  a.C = set.input(dtype, {batch, seqlen, 1, dstate}, normal());
  a.D = set.input(DType::kF32, {dim}, normal(0.1, 1));
  a.dt_bias = set.input(DType::kF32, {dim}, normal(0.3, -1));
  a.y = set.output(dtype, {batch, seqlen, dim});
  a.dt_softplus = true;
  return a;
}

struct Model {
  int64_t nheads, headdim, dstate, ngroups;
};

SsdChunkScan::Args ssd(DeviceSet& set, int64_t batch, int64_t seqlen, Model m, DType dtype,
                       Precision precision, DType state) {
  SsdChunkScan::Args a;
  a.device = Device::kCuda;
  a.precision = precision;
  a.x = set.input(dtype, {batch, seqlen, m.nheads, m.headdim}, normal());
  a.dt = set.input(DType::kF32, {batch, seqlen, m.nheads}, normal(1, -2));
  a.A = set.input(DType::kF32, {m.nheads}, uniform(-16, -1));
  a.B = set.input(dtype, {batch, seqlen, m.ngroups, m.dstate}, normal());
  a.C = set.input(dtype, {batch, seqlen, m.ngroups, m.dstate}, normal());
  a.D = set.input(DType::kF32, {m.nheads}, normal(0.1, 1));
  a.dt_bias = set.input(DType::kF32, {m.nheads}, normal(0.3, -2));
  a.final_states = set.output(state, {batch, m.nheads, m.headdim, m.dstate});
  a.y = set.output(dtype, {batch, seqlen, m.nheads, m.headdim});
  a.dt_softplus = true;
  return a;
}

SelectiveStateUpdate::Args update(DeviceSet& set, int64_t batch, Model m, DType dtype,
                                  DType state) {
  SelectiveStateUpdate::Args a;
  a.device = Device::kCuda;
  const bool tied = m.nheads > 1;  // Mamba-2
  a.x = set.input(dtype, {batch, 1, m.nheads, m.headdim}, normal());
  a.z = set.input(dtype, {batch, 1, m.nheads, m.headdim}, normal());
  a.dt = set.input(DType::kF32, {batch, 1, m.nheads, tied ? 1 : m.headdim}, normal(1, -2));
  a.A = set.input(DType::kF32, {m.nheads, tied ? 1 : m.headdim, tied ? 1 : m.dstate},
                  uniform(-16, -1));
  a.B = set.input(dtype, {batch, 1, m.ngroups, m.dstate}, normal());
  a.C = set.input(dtype, {batch, 1, m.ngroups, m.dstate}, normal());
  a.D = set.input(DType::kF32, {m.nheads, tied ? 1 : m.headdim}, normal(0.1, 1));
  a.dt_bias = set.input(DType::kF32, {m.nheads, tied ? 1 : m.headdim}, normal(0.3, -2));
  if (tied) {
    a.dt.shape[3] = m.headdim, a.dt.stride[3] = 0;
    a.A.shape[1] = m.headdim, a.A.stride[1] = 0, a.A.shape[2] = m.dstate, a.A.stride[2] = 0;
    a.D.shape[1] = a.dt_bias.shape[1] = m.headdim;
    a.D.stride[1] = a.dt_bias.stride[1] = 0;
  }
  a.state = set.state(state, {batch, m.nheads, m.headdim, m.dstate}, normal());
  a.y = set.output(dtype, {batch, 1, m.nheads, m.headdim});
  a.dt_softplus = true;
  return a;
}

constexpr Model kMamba2_130M{24, 64, 128, 1}, kMamba2_2_7B{80, 64, 128, 1},
    kNemotronH8B{128, 64, 128, 8}, kNemotronNano9B{128, 80, 128, 8}, kFalconH1_7B{24, 128, 256, 1},
    kGraniteTiny{48, 64, 128, 1}, kWide{128, 80, 128, 1}, kMamba1{1, 5120, 16, 1};

}  // namespace

template <>
std::vector<GpuShape<SelectiveScan>> gpu_shapes<SelectiveScan>() {
  std::vector<GpuShape<SelectiveScan>> shapes;
  const auto add = [&](const std::string& name, int64_t batch, int64_t seqlen, int64_t dim,
                       DType dtype, bool timed = true) {
    shapes.push_back(
        {name, [=](DeviceSet& set) { return scan(set, batch, seqlen, dim, dtype); }, timed});
  };
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    add("re_use_16k_time_161x251x256", 161, 251, 256, dtype);
    add("re_use_16k_frequency_251x161x256", 251, 161, 256, dtype);
    add("d5120_l2048", 1, 2048, 5120, dtype);
    add("d5120_l16384", 1, 16384, 5120, dtype);
    add("mamba_130m_l2048", 1, 2048, 1536, dtype);
    add("falcon_mamba_7b_l934", 1, 934, 8192, dtype);
    add("many_rows_12000x81x256", 12000, 81, 256, dtype);
    add("many_rows_4096x16x1024", 4096, 16, 1024, dtype);
  }
  for (const int64_t seqlen : {1, 4, 16, 64, 256, 1024, 4096})
    add("b1_d1536_l" + std::to_string(seqlen), 1, seqlen, 1536, DType::kF32);
  add("over_2_31", 1, 300000, 8192, DType::kBF16, false);
  add("over_2_32", 3, 200000, 8200, DType::kBF16, false);
  return shapes;
}

template <>
std::vector<GpuShape<SsdChunkScan>> gpu_shapes<SsdChunkScan>() {
  std::vector<GpuShape<SsdChunkScan>> shapes;
  const auto add = [&](const std::string& name, int64_t batch, int64_t seqlen, Model m, DType dtype,
                       Precision precision, bool timed = true, DType state = DType::kF32) {
    shapes.push_back(
        {name, [=](DeviceSet& set) { return ssd(set, batch, seqlen, m, dtype, precision, state); },
         timed});
  };
  const auto add_bf16_state = [&](const std::string& name, int64_t batch, int64_t seqlen, Model m) {
    add(name + "_bf16_state", batch, seqlen, m, DType::kBF16, Precision::kFast, true, DType::kBF16);
  };
  constexpr Precision kFast = Precision::kFast, kStandard = Precision::kStandard;
  for (const int64_t seqlen : {2048, 8192, 65536})
    add("mamba2_2.7b_l" + std::to_string(seqlen), 1, seqlen, kMamba2_2_7B, DType::kBF16, kFast);
  add("mamba2_2.7b_b8_l2048", 8, 2048, kMamba2_2_7B, DType::kBF16, kFast);
  add("mamba2_130m_l2048", 1, 2048, kMamba2_130M, DType::kBF16, kFast);
  add("falcon_h1_7b_l8192", 1, 8192, kFalconH1_7B, DType::kBF16, kFast);
  add("nemotron_h_8b_l8192", 1, 8192, kNemotronH8B, DType::kBF16, kFast);
  add("nemotron_nano_9b_l8192", 1, 8192, kNemotronNano9B, DType::kBF16, kFast);
  add_bf16_state("mamba2_2.7b_l2048", 1, 2048, kMamba2_2_7B);
  add_bf16_state("mamba2_2.7b_l8192", 1, 8192, kMamba2_2_7B);
  add_bf16_state("mamba2_2.7b_b8_l2048", 8, 2048, kMamba2_2_7B);
  add_bf16_state("falcon_h1_7b_l8192", 1, 8192, kFalconH1_7B);
  add_bf16_state("nemotron_h_8b_l8192", 1, 8192, kNemotronH8B);
  add_bf16_state("nemotron_nano_9b_l8192", 1, 8192, kNemotronNano9B);
  add("h48_p64_n128_l512", 1, 512, kGraniteTiny, DType::kF32, kStandard);
  add("h128_p80_n128_l512", 1, 512, kWide, DType::kF32, kStandard);
  add("mamba2_2.7b_l2048", 1, 2048, kMamba2_2_7B, DType::kF32, kStandard);
  for (const int64_t seqlen : {1, 4, 16, 64, 128, 256, 1024, 4096}) {
    add("sweep_b1_h80_l" + std::to_string(seqlen), 1, seqlen, kMamba2_2_7B, DType::kBF16, kFast);
    add("sweep_b1_h80_l" + std::to_string(seqlen), 1, seqlen, kMamba2_2_7B, DType::kF32, kStandard);
  }
  for (const int64_t batch : {1, 4, 16, 86})
    add("sweep_l256_h24_b" + std::to_string(batch), batch, 256, kMamba2_130M, DType::kBF16, kFast);
  // With a gate, states that are brought up to date in place, and decays so weak that what one
  // block hands on counts in the last.
  shapes.push_back(
      {"nemotron_nano_9b_l8192_resumed",
       [](DeviceSet& set) {
         constexpr Model m = kNemotronNano9B;
         SsdChunkScan::Args a = ssd(set, 1, 8192, m, DType::kBF16, kFast, DType::kF32);
         a.A = set.input(DType::kF32, {m.nheads}, uniform(-0.02, -0.001));
         a.z = set.input(DType::kBF16, {1, 8192, m.nheads, m.headdim}, normal());
         a.final_states = set.state(DType::kF32, {1, m.nheads, m.headdim, m.dstate}, normal());
         a.initial_states = a.final_states;
         return a;
       },
       false});
  add("over_2_31", 1, 300000, kNemotronH8B, DType::kBF16, kFast, false);
  add("over_2_32", 1, 530000, kNemotronH8B, DType::kBF16, kFast, false);
  return shapes;
}

template <>
std::vector<GpuShape<SelectiveStateUpdate>> gpu_shapes<SelectiveStateUpdate>() {
  std::vector<GpuShape<SelectiveStateUpdate>> shapes;
  const auto add = [&](const std::string& name, Model m, DType dtype, DType state) {
    for (const int64_t batch : {1, 32, 256})
      shapes.push_back({name + "_b" + std::to_string(batch),
                        [=](DeviceSet& set) { return update(set, batch, m, dtype, state); }});
  };
  add("mamba2_2.7b", kMamba2_2_7B, DType::kBF16, DType::kF32);
  add("mamba2_2.7b_bf16_state", kMamba2_2_7B, DType::kBF16, DType::kBF16);
  add("h48_p64_n128", kGraniteTiny, DType::kF32, DType::kF32);
  add("h128_p80_n128", kWide, DType::kF32, DType::kF32);
  add("falcon_h1_7b", kFalconH1_7B, DType::kBF16, DType::kF32);
  add("mamba1_d5120", kMamba1, DType::kBF16, DType::kF32);
  add("mamba1_d5120_f32", kMamba1, DType::kF32, DType::kF32);
  // States of more than 2^31 and 2^32 elements.
  for (const auto& [name, batch] : {std::pair("over_2_31", 3400), std::pair("over_2_32", 6700)})
    shapes.push_back({name,
                      [=](DeviceSet& set) {
                        return update(set, batch, kMamba2_2_7B, DType::kBF16, DType::kBF16);
                      },
                      false});
  return shapes;
}

}  // namespace hiss::bench
