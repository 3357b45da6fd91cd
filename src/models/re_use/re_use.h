// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiss/context.h"
#include "hiss/status.h"

namespace hiss::models {

// What the front end does after the network when a checkpoint asks for it: audio/bypass.h.
struct ReUseBypass {
  double low_db = 0, high_db = 0;
  int64_t bins = 0, frames = 0;
};

// The shape of a RE-USE-layout network and its front end (config.json: model_cfg, stft_cfg).
struct ReUseConfig {
  int64_t blocks = 30;    // num_tfmamba
  int64_t channels = 64;  // hid_feature
  int64_t expand = 4;     // d_inner = expand * channels
  int64_t d_state = 16;
  int64_t d_conv = 4;
  int64_t dt_rank = 0;  // 0: ceil(channels / 16)
  double norm_epsilon = 1e-5;
  int64_t n_fft = 320, hop_size = 40, win_size = 320, sampling_rate = 8000;  // base STFT
  // The level windows are brought to; absent: fed as they are.
  std::optional<double> input_rms_dbfs;
  std::optional<ReUseBypass> bypass{};  // absent: the network's output as it is
};

// One window of a batch of channels, frames x bins each: log1p magnitude and phase, dense
// [batch, frames, bins].
struct SpectrumBatch {
  int64_t batch = 0, frames = 0, bins = 0;
  float* log_magnitude = nullptr;
  float* phase = nullptr;
};

// Named activations of one run (batch item 0), for --dump and the parity tests.
struct Activations {
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors;  // encoder_out, block_0_out ... [C, T', F'] and so on
};

class ReUse {
 public:
  virtual ~ReUse() = default;
  // From a .safetensors file, or a directory with one (and config.json). The three key layouts
  // (PyTorch names with optional prefix, SpeechLens's and mlx-speech's conversions) are told apart
  // by their names. kInvalidArgument lists every missing, unexpected and misshaped tensor at once,
  // before any memory is committed.
  static Result<std::unique_ptr<ReUse>> load(const std::string& path, Context& context,
                                             Precision precision);
  virtual const ReUseConfig& config() const = 0;
  virtual int64_t parameters() const = 0;
  // The kernels the operators run with.
  virtual std::vector<std::string> kernels() const = 0;
  // Replaces the spectrum by the enhanced one. log_magnitude out may be negative (see synthesis).
  // kResourceExhausted: not enough memory for the activations. `dump` may be nullptr.
  virtual Status run(const SpectrumBatch& spectrum, Activations* dump) = 0;
};

}  // namespace hiss::models
