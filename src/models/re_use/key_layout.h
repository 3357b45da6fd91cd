// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// How checkpoints of the RE-USE network name and lay out their tensors.
namespace hiss::models::re_use {

enum class KeyLayout : uint8_t {
  kPyTorch,     // the original state_dict
  kSpeechLens,  // SpeechLens's MLX conversion: camel case, "layers"
  kMlxSpeech,   // mlx-speech's MLX conversion: Sequential's 0, 1, 2 are conv, norm, act
};
const char* to_string(KeyLayout layout);

// A layout and the prefix that a wrapper module left before every name.
struct KeyScheme {
  KeyLayout layout = KeyLayout::kPyTorch;
  std::string_view prefix;
};
inline constexpr std::array<KeyScheme, 5> kKeySchemes = {{{KeyLayout::kPyTorch, ""},
                                                          {KeyLayout::kPyTorch, "model."},
                                                          {KeyLayout::kPyTorch, "SEMamba."},
                                                          {KeyLayout::kSpeechLens, ""},
                                                          {KeyLayout::kMlxSpeech, ""}}};

// The stored name of the tensor that PyTorch calls `name`.
std::string stored_name(std::string_view name, const KeyScheme& scheme);

// The stored shape of a PyTorch shape. Both MLX conversions put the input channels last: 2-D
// convolutions O,I,H,W -> O,H,W,I, the depthwise one E,1,K -> E,K,1.
std::vector<int64_t> stored_shape(const std::vector<int64_t>& shape, KeyLayout layout);

}  // namespace hiss::models::re_use
