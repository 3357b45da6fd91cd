// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "models/checkpoint.h"
#include "models/re_use/re_use.h"

namespace hiss::models {

// The RE-USE network written down plainly: channels first, every concatenation, flip and transpose
// made as the definition says, everything in double. Shares nothing with src/.
// log_magnitude, phase [T, F] are replaced by the network's outputs.
void plain_re_use(const Checkpoint& checkpoint, const ReUseConfig& config, int64_t frames,
                  int64_t bins, std::vector<double>& log_magnitude, std::vector<double>& phase);

}  // namespace hiss::models
