// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hiss/tensor.h"

// A checkpoint in memory that tests can take apart, convert and write.
namespace hiss::models {

struct Checkpoint {
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;

  // Reads a file of F32 tensors; fails the test when it cannot.
  static Checkpoint read(const std::string& path);
  // Writes it with all values as F32, F16 or BF16; fails the test when it cannot.
  void write(const std::string& path, DType dtype = DType::kF32) const;

  Checkpoint with_prefix(const std::string& prefix) const;
  // As SpeechLens's and mlx-speech's converters would write it.
  Checkpoint as_speech_lens() const;
  Checkpoint as_mlx_speech() const;
};

}  // namespace hiss::models
