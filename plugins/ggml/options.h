// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hiss/kernel.h"
#include "hiss/status.h"

namespace hiss::ggml {

enum class Route : uint8_t { kAuto, kHook, kDevice };
enum class CudaRoute : uint8_t { kHook, kDevice, kOff };

// The environment variable HISS_GGML: words separated by commas, read once when ggml loads the
// plugin. Empty or unset: these defaults.
struct Options {
  bool enabled = true;  // off
  bool log = false;     // log
  // min_tokens=N: leave shorter sequences to ggml. 0, where nothing is said: those whose single
  // tokens ggml decodes as fast as we do, or faster; that is all but scans with one decay a state.
  int64_t min_tokens = 0;
  Precision precision = Precision::kStandard;  // precision=standard|strict|fast
  Route route = Route::kAuto;                  // route=hook|device
  CudaRoute cuda = CudaRoute::kHook;           // cuda=hook|device|off
  // cuda_min_tokens=N: take from ggml's CUDA device the scans of N tokens or more that it can do
  // too. Unset: those that are faster (cuda_choice.h).
  std::optional<int64_t> cuda_min_tokens;
};

// kInvalidArgument names the word and lists the valid ones.
Result<Options> parse_options(std::string_view text);

}  // namespace hiss::ggml
