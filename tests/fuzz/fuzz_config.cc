// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/re_use/config.h"

// Whatever the text of config.json: an error with a text, or sizes that the network's arithmetic
// cannot overflow on.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config =
      hiss::models::re_use::parse_config({reinterpret_cast<const char*>(data), size});
  if (!config) {
    if (config.error().message().empty()) std::abort();
    return 0;
  }
  for (const int64_t field : {config->blocks, config->channels, config->expand, config->d_state,
                              config->d_conv, config->dt_rank, config->n_fft, config->hop_size,
                              config->win_size, config->sampling_rate}) {
    if (field < 1 || field > 1000000) std::abort();
  }
  if (!(config->norm_epsilon > 0 && config->norm_epsilon <= 1)) std::abort();
  return 0;
}
