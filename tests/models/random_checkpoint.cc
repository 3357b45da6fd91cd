// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/random_checkpoint.h"

#include <cmath>
#include <random>

#include "io/safetensors.h"
#include "models/re_use/weights.h"

namespace hiss::models::re_use {
namespace {

bool ends_with(const std::string& name, std::string_view end) { return name.ends_with(end); }

class Generator {
 public:
  std::vector<float> tensor(const Slot& slot) {
    int64_t n = 1;
    for (int64_t size : slot.shape) n *= size;
    std::vector<float> values(static_cast<size_t>(n));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = value(slot, static_cast<int64_t>(i), n / slot.shape[0]);
    return values;
  }

 private:
  float value(const Slot& slot, int64_t i, int64_t fan_in) {
    const std::string& name = slot.name;
    if (ends_with(name, "A_log")) return std::log(static_cast<float>(i % slot.shape[1] + 1));
    if (ends_with(name, ".D")) return 1;
    if (ends_with(name, "dt_proj.bias")) {  // steps of 1e-3 to 1e-1 behind the softplus
      const float step = std::pow(10.0f, -3 + 2 * uniform_(engine_));
      return step + std::log(-std::expm1(-step));
    }
    if (ends_with(name, "bias")) return 0.1f * normal_(engine_);
    if (ends_with(name, ".2.weight")) return 0.25f;
    if (slot.shape.size() == 1) return 1 + 0.1f * normal_(engine_);
    return normal_(engine_) / std::sqrt(static_cast<float>(fan_in));
  }

  std::mt19937 engine_{1};
  std::normal_distribution<float> normal_;
  std::uniform_real_distribution<float> uniform_;
};

}  // namespace

Status write_random_checkpoint(const std::string& path, ReUseConfig config) {
  if (config.dt_rank == 0) config.dt_rank = (config.channels + 15) / 16;
  Weights no_weights;
  Generator generate;
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, ConstTensorView> tensors;
  for (const Slot& slot : slots(config, no_weights)) {
    const auto& stored = values[slot.name] = generate.tensor(slot);
    ConstTensorView view(stored.data(), DType::kF32, {});
    view.rank = static_cast<int>(slot.shape.size());
    int64_t stride = 1;
    for (int i = view.rank - 1; i >= 0; --i) {
      view.shape[i] = slot.shape[static_cast<size_t>(i)];
      view.stride[i] = stride;
      stride *= view.shape[i];
    }
    tensors[slot.name] = view;
  }
  const auto text = [](int64_t n) { return std::to_string(n); };
  return io::write_safetensors(path, tensors,
                               {{"num_tfmamba", text(config.blocks)},
                                {"hid_feature", text(config.channels)},
                                {"expand", text(config.expand)},
                                {"d_state", text(config.d_state)},
                                {"d_conv", text(config.d_conv)},
                                {"dt_rank", text(config.dt_rank)},
                                {"n_fft", text(config.n_fft)},
                                {"hop_size", text(config.hop_size)},
                                {"win_size", text(config.win_size)},
                                {"sampling_rate", text(config.sampling_rate)}});
}

}  // namespace hiss::models::re_use
