// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/checkpoint.h"

#include <gtest/gtest.h>

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

// The first `from` in the name, if there is one, becomes `to`.
void replace(std::string& name, const std::string& from, const std::string& to) {
  if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
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
  static const std::pair<const char*, const char*> kRules[] = {
      {"dense_conv_1.", "conv1.layers."},
      {"dense_conv_2.", "conv2.layers."},
      {"up_conv1.", "upConv1.layers."},
      {"up_conv2.", "upConv2.layers."},
      {"phase_conv_r", "phaseConvR"},
      {"phase_conv_i", "phaseConvI"},
      {"final_conv", "finalConv"},
      {"forward_blocks", "forward"},
      {"backward_blocks", "backward"},
      {"TSMamba", "tfMamba"},
      {"time_mamba", "timeMamba"},
      {"freq_mamba", "freqMamba"},
      {"output_proj", "outputProj"},
      {"in_proj", "inProj"},
      {"out_proj", "outProj"},
      {"x_proj", "xProj"},
      {"dt_proj", "dtProj"},
      {"dense_encoder", "denseEncoder"},
      {"mask_decoder", "maskDecoder"},
      {"phase_decoder", "phaseDecoder"},
  };
  Checkpoint converted{{}, metadata};
  for (const auto& [original, tensor] : tensors) {
    std::string name = original;
    for (const char* stage : {"0", "1", "2", "3"})
      replace(name, std::string("dense_block.dense_block.") + stage + ".",
              std::string("denseBlock.layers.") + stage + ".layers.");
    for (const auto& [from, to] : kRules) replace(name, from, to);
    converted.tensors[name] = channels_last(tensor);
  }
  return converted;
}

Checkpoint Checkpoint::as_mlx_speech() const {
  static const std::pair<std::string, std::string> kEndings[] = {
      {".0.weight", ".conv.weight"},
      {".0.bias", ".conv.bias"},
      {".0.conv.weight", ".conv.conv.weight"},
      {".0.conv.bias", ".conv.conv.bias"},
      {".1.weight", ".norm.weight"},
      {".1.bias", ".norm.bias"},
      {".2.weight", ".act.weight"},
  };
  Checkpoint converted{{}, metadata};
  for (const auto& [original, tensor] : tensors) {
    std::string name = original;
    for (const auto& [from, to] : kEndings)
      if (original.ends_with(from)) name = original.substr(0, original.size() - from.size()) + to;
    converted.tensors[name] = channels_last(tensor);
  }
  return converted;
}

}  // namespace hiss::models
