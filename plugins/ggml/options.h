// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string_view>

#include "hiss/kernel.h"
#include "hiss/status.h"

namespace hiss::ggml {

enum class Route : uint8_t { kAuto, kHook, kDevice };

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
};

// kInvalidArgument names the word and lists the valid ones.
Result<Options> parse_options(std::string_view text);

}  // namespace hiss::ggml
