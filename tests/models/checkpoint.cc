// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/checkpoint.h"

#include <gtest/gtest.h>

#include <regex>

#include "core/float16.h"
#include "io/safetensors.h"

namespace hiss::models {
namespace {

ConstTensorView view_of(const void* data, DType dtype, const std::vector<int64_t>& shape) {
  ConstTensorView view(data, dtype, {});
  view.rank = static_cast<int>(shape.size());
  int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.shape[i] = shape[static_cast<size_t>(i)];
    view.stride[i] = stride;
    stride *= view.shape[i];
  }
  return view;
}

// O,I,H,W -> O,H,W,I and E,1,K -> E,K,1; the rest as it is.
Checkpoint::Tensor channels_last(const Checkpoint::Tensor& t) {
  if (t.shape.size() == 3) return {{t.shape[0], t.shape[2], t.shape[1]}, t.values};
  if (t.shape.size() != 4) return t;
  const int64_t outs = t.shape[0], ins = t.shape[1], rows = t.shape[2], cols = t.shape[3];
  Checkpoint::Tensor last{{outs, rows, cols, ins}, {}};
  for (int64_t o = 0; o < outs; ++o)
    for (int64_t h = 0; h < rows; ++h)
      for (int64_t w = 0; w < cols; ++w)
        for (int64_t i = 0; i < ins; ++i)
          last.values.push_back(
              t.values[static_cast<size_t>(((o * ins + i) * rows + h) * cols + w)]);
  return last;
}

}  // namespace

Checkpoint Checkpoint::read(const std::string& path) {
  Checkpoint checkpoint;
  const Result<io::Safetensors> file = io::Safetensors::open(path);
  EXPECT_TRUE(file) << file.error().to_string();
  if (!file) return checkpoint;
  for (const auto& [name, view] : file->tensors()) {
    EXPECT_EQ(view.dtype, DType::kF32) << name;
    checkpoint.tensors[name] = {{view.shape.begin(), view.shape.begin() + view.rank},
                                {view.as<float>(), view.as<float>() + view.elements()}};
  }
  checkpoint.metadata.insert(file->metadata().begin(), file->metadata().end());
  return checkpoint;
}

void Checkpoint::write(const std::string& path, DType dtype) const {
  std::map<std::string, std::vector<uint16_t>> narrow;
  std::map<std::string, ConstTensorView> views;
  for (const auto& [name, tensor] : tensors) {
    const void* data = tensor.values.data();
    if (dtype != DType::kF32) {
      std::vector<uint16_t>& bits = narrow[name];
      for (float v : tensor.values)
        bits.push_back(dtype == DType::kF16 ? f16_from_float(v) : bf16_from_float(v));
      data = bits.data();
    }
    views[name] = view_of(data, dtype, tensor.shape);
  }
  const Status status = io::write_safetensors(path, views, metadata);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

Checkpoint Checkpoint::with_prefix(const std::string& prefix) const {
  Checkpoint prefixed{{}, metadata};
  for (const auto& [name, tensor] : tensors) prefixed.tensors[prefix + name] = tensor;
  return prefixed;
}

Checkpoint Checkpoint::as_speech_lens() const {
  static const std::pair<std::regex, const char*> kRules[] = {
      {std::regex("dense_block\\.dense_block\\.([0-3])\\.([0-2])\\."),
       "denseBlock.layers.$1.layers.$2."},
      {std::regex("dense_conv_([12])\\."), "conv$1.layers."},
      {std::regex("up_conv([12])\\."), "upConv$1.layers."},
      {std::regex("phase_conv_r"), "phaseConvR"},
      {std::regex("phase_conv_i"), "phaseConvI"},
      {std::regex("_blocks"), ""},
      {std::regex("TSMamba"), "tfMamba"},
      {std::regex("(time|freq)_mamba"), "$1Mamba"},
      {std::regex("(output|in|out|x|dt)_proj"), "$1Proj"},
      {std::regex("dense_encoder"), "denseEncoder"},
      {std::regex("(mask|phase)_decoder"), "$1Decoder"},
      {std::regex("final_conv"), "finalConv"},
  };
  Checkpoint converted{{}, metadata};
  for (const auto& [original, tensor] : tensors) {
    std::string name = original;
    for (const auto& [pattern, replacement] : kRules)
      name = std::regex_replace(name, pattern, replacement);
    converted.tensors[name] = channels_last(tensor);
  }
  return converted;
}

Checkpoint Checkpoint::as_mlx_speech() const {
  static const std::regex kItem(
      "^((?:dense_encoder|mask_decoder|phase_decoder)\\..*\\.)([0-2])"
      "((?:\\.conv)?\\.(?:weight|bias))$");
  static const std::map<std::string, std::string> kItems = {
      {"0", "conv"}, {"1", "norm"}, {"2", "act"}};
  Checkpoint converted{{}, metadata};
  for (const auto& [original, tensor] : tensors) {
    std::string name = original;
    std::smatch match;
    if (std::regex_match(original, match, kItem))
      name = match[1].str() + kItems.at(match[2].str()) + match[3].str();
    converted.tensors[name] = channels_last(tensor);
  }
  return converted;
}

}  // namespace hiss::models
