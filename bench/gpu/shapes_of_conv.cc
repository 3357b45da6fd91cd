// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "shapes.h"

namespace hiss::bench {
namespace {

CausalConv1d::Args conv(DeviceSet& set, int64_t batch, int64_t seqlen, int64_t dim, DType dtype,
                        bool channels_first, int64_t width = 4) {
  const Place place = channels_first ? Place::kChannelsFirst : Place::kDense;
  CausalConv1d::Args a;
  a.device = Device::kCuda;
  a.x = set.input(dtype, {batch, seqlen, dim}, normal(), place);
  a.weight = set.input(DType::kF32, {dim, width}, normal(0.5));
  a.bias = set.input(DType::kF32, {dim}, normal(0.3));
  a.y = set.output(dtype, {batch, seqlen, dim}, place);
  a.activation = Activation::kSilu;
  return a;
}

}  // namespace

template <>
std::vector<GpuShape<CausalConv1d>> gpu_shapes<CausalConv1d>() {
  struct Size {
    const char* name;
    int64_t batch, seqlen, dim;
    bool timed = true;
  };
  const Size sizes[] = {
      {"d5376_l65536", 1, 65536, 5376},
      {"d5376_l2048", 1, 2048, 5376},
      {"d10240_l8192", 1, 8192, 10240},
      {"granite_4_h_tiny_l512", 1, 512, 3328},
      {"falcon_mamba_7b_l934", 1, 934, 8192},
      {"re_use_frequency_2001x81x256", 2001, 81, 256},
      {"re_use_time_81x2001x256", 81, 2001, 256},
      {"many_rows_4096x16x1024", 4096, 16, 1024},
      {"odd_7x333x333", 7, 333, 333},
      {"one_token_d5376", 1, 1, 5376},
      {"one_token_128x10240", 128, 1, 10240},
  };
  std::vector<GpuShape<CausalConv1d>> shapes;
  for (const Size& s : sizes)
    for (const DType dtype : {DType::kF32, DType::kBF16})
      for (const bool first : {false, true})
        shapes.push_back(
            {std::string(s.name) + (first ? "_channels_first" : ""),
             [=](DeviceSet& set) { return conv(set, s.batch, s.seqlen, s.dim, dtype, first); },
             s.timed});
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const bool first : {false, true})
      shapes.push_back({std::string("reverse_d5376_l2048") + (first ? "_channels_first" : ""),
                        [=](DeviceSet& set) {
                          CausalConv1d::Args a = conv(set, 1, 2048, 5376, dtype, first);
                          a.direction = Direction::kReverse;
                          return a;
                        }});
  // More elements than 2^31 and 2^32.
  for (const bool first : {false, true}) {
    const std::string name = first ? "_channels_first" : "";
    shapes.push_back(
        {"over_2_31" + name,
         [=](DeviceSet& set) { return conv(set, 1, 300000, 8192, DType::kBF16, first); }, false});
    shapes.push_back(
        {"over_2_32" + name,
         [=](DeviceSet& set) { return conv(set, 3, 200000, 8200, DType::kBF16, first); }, false});
  }
  struct Pack {
    int64_t sequences, tokens;
    bool states;
  };
  for (const Pack& p : {Pack{2048, 1, true}, {256, 8, true}, {2048, 4, false}, {16, 512, false}})
    for (const bool first : {false, true})
      shapes.push_back({"packed_" + std::to_string(p.sequences) + "_of_" +
                            std::to_string(p.tokens) + (first ? "_channels_first" : ""),
                        [=](DeviceSet& set) {
                          CausalConv1d::Args a =
                              conv(set, 1, p.sequences * p.tokens, 5376, DType::kBF16, first);
                          std::vector<int64_t> starts;
                          for (int64_t i = 0; i <= p.sequences; ++i) starts.push_back(p.tokens * i);
                          a.cu_seqlens = set.indices(DType::kI32, starts);
                          if (!p.states) return a;
                          const std::vector<int64_t> states{p.sequences, 3, 5376};
                          const Place place = first ? Place::kChannelsFirst : Place::kDense;
                          a.initial_state = set.input(DType::kF32, states, normal(), place);
                          a.final_state = set.output(DType::kF32, states, place);
                          return a;
                        }});
  // Sizes at which rows are cut otherwise than those of the tests, with all that a row may have.
  struct Many {
    const char* name;
    int64_t batch, seqlen, dim, width;
    bool states, reverse;
  };
  for (const Many& m : {Many{"many_300x21x1024_states", 300, 21, 1024, 4, true, false},
                        {"many_300x21x1024_states_reverse", 300, 21, 1024, 4, true, true},
                        {"many_300x21x1024_width_3_reverse", 300, 21, 1024, 3, false, true},
                        {"many_34x1003x1000_width_2_states", 34, 1003, 1000, 2, true, true},
                        {"many_34x500x1000_states", 34, 500, 1000, 4, true, false},
                        {"many_34x500x1000_width_3_reverse", 34, 500, 1000, 3, true, true}})
    for (const DType dtype : {DType::kF32, DType::kBF16})
      for (const bool first : {false, true})
        shapes.push_back({std::string(m.name) + (first ? "_channels_first" : ""),
                          [=](DeviceSet& set) {
                            CausalConv1d::Args a =
                                conv(set, m.batch, m.seqlen, m.dim, dtype, first, m.width);
                            if (m.reverse) a.direction = Direction::kReverse;
                            if (!m.states) return a;
                            const std::vector<int64_t> states{m.batch, m.width - 1, m.dim};
                            const Place place = first ? Place::kChannelsFirst : Place::kDense;
                            a.initial_state = set.input(DType::kF32, states, normal(), place);
                            a.final_state = set.output(DType::kF32, states, place);
                            return a;
                          },
                          false});
  shapes.push_back({"states_d5376_l2048", [](DeviceSet& set) {
                      CausalConv1d::Args a = conv(set, 1, 2048, 5376, DType::kBF16, false);
                      a.initial_state = set.input(DType::kF32, {1, 3, 5376}, normal());
                      a.final_state = set.output(DType::kF32, {1, 3, 5376});
                      return a;
                    }});
  return shapes;
}

template <>
std::vector<GpuShape<CausalConv1dUpdate>> gpu_shapes<CausalConv1dUpdate>() {
  std::vector<GpuShape<CausalConv1dUpdate>> shapes;
  const auto add = [&](const std::string& name, int64_t batch, int64_t dim, DType dtype,
                       bool timed) {
    shapes.push_back({name,
                      [=](DeviceSet& set) {
                        CausalConv1dUpdate::Args a;
                        a.device = Device::kCuda;
                        a.x = set.input(dtype, {batch, 1, dim}, normal());
                        a.weight = set.input(DType::kF32, {dim, 4}, normal(0.5));
                        a.bias = set.input(DType::kF32, {dim}, normal(0.3));
                        a.state = set.state(DType::kF32, {batch, 3, dim}, normal());
                        a.y = set.output(dtype, {batch, 1, dim});
                        a.activation = Activation::kSilu;
                        return a;
                      },
                      timed});
  };
  for (const int64_t batch : {1, 32, 256})
    for (const DType dtype : {DType::kF32, DType::kBF16})
      add("decode_" + std::to_string(batch) + "x5376", batch, 5376, dtype, true);
  add("over_2_31", 75000, 10240, DType::kBF16, false);
  add("over_2_32", 145000, 10240, DType::kBF16, false);
  return shapes;
}

}  // namespace hiss::bench
