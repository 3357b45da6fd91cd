// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/key_layout.h"

#include <utility>

namespace hiss::models::re_use {
namespace {

using Renaming = std::pair<std::string_view, std::string_view>;

// Names are taken apart at the dots; a part or a pair of parts is replaced.
constexpr Renaming kSpeechLensParts[] = {
    {"dense_encoder", "denseEncoder"},
    {"mask_decoder", "maskDecoder"},
    {"phase_decoder", "phaseDecoder"},
    {"TSMamba", "tfMamba"},
    {"time_mamba", "timeMamba"},
    {"freq_mamba", "freqMamba"},
    {"forward_blocks", "forward"},
    {"backward_blocks", "backward"},
    {"output_proj", "outputProj"},
    {"in_proj", "inProj"},
    {"out_proj", "outProj"},
    {"x_proj", "xProj"},
    {"dt_proj", "dtProj"},
    {"final_conv", "finalConv"},
    {"phase_conv_r", "phaseConvR"},
    {"phase_conv_i", "phaseConvI"},
    {"dense_conv_1", "conv1.layers"},
    {"dense_conv_2", "conv2.layers"},
    {"up_conv1", "upConv1.layers"},
    {"up_conv2", "upConv2.layers"},
};
constexpr Renaming kMlxSpeechParts[] = {{"0", "conv"}, {"1", "norm"}, {"2", "act"}};

std::vector<std::string> split(std::string_view name) {
  std::vector<std::string> parts;
  for (size_t dot; (dot = name.find('.')) != std::string_view::npos; name.remove_prefix(dot + 1))
    parts.emplace_back(name.substr(0, dot));
  parts.emplace_back(name);
  return parts;
}

template <size_t n>
void rename(std::string& part, const Renaming (&table)[n]) {
  for (const auto& [from, to] : table)
    if (part == from) {
      part = to;
      return;
    }
}

// dense_block.dense_block.{stage}.{item} -> denseBlock.layers.{stage}.layers.{item}
void rename_dense_block(std::vector<std::string>& parts) {
  for (size_t i = 0; i + 3 < parts.size(); ++i)
    if (parts[i] == "dense_block" && parts[i + 1] == "dense_block") {
      parts[i] = "denseBlock";
      parts[i + 1] = "layers";
      parts[i + 2] += ".layers";
    }
}

// The 0, 1, 2 of a Sequential stand just before the parameter's own name, or before the "conv" of a
// sub-pixel layer; other numbers count blocks and stages.
void rename_sequential(std::vector<std::string>& parts) {
  if (parts.front() == "TSMamba") return;
  size_t item = parts.size() - 2;
  if (parts[item] == "conv") --item;
  rename(parts[item], kMlxSpeechParts);
}

}  // namespace

const char* to_string(KeyLayout layout) {
  switch (layout) {
    case KeyLayout::kPyTorch:
      return "PyTorch";
    case KeyLayout::kSpeechLens:
      return "SpeechLens MLX";
    case KeyLayout::kMlxSpeech:
      return "mlx-speech MLX";
  }
  return "unknown";
}

std::string stored_name(std::string_view name, const KeyScheme& scheme) {
  std::vector<std::string> parts = split(name);
  if (scheme.layout == KeyLayout::kSpeechLens) {
    rename_dense_block(parts);
    for (std::string& part : parts) rename(part, kSpeechLensParts);
  } else if (scheme.layout == KeyLayout::kMlxSpeech) {
    rename_sequential(parts);
  }
  std::string stored(scheme.prefix);
  for (size_t i = 0; i < parts.size(); ++i) stored += (i == 0 ? "" : ".") + parts[i];
  return stored;
}

std::vector<int64_t> stored_shape(const std::vector<int64_t>& shape, KeyLayout layout) {
  if (layout == KeyLayout::kPyTorch) return shape;
  if (shape.size() == 4) return {shape[0], shape[2], shape[3], shape[1]};
  if (shape.size() == 3) return {shape[0], shape[2], shape[1]};
  return shape;
}

}  // namespace hiss::models::re_use
