// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "hiss/status.h"
#include "models/re_use/re_use.h"

namespace hiss::models::re_use {

// Writes a checkpoint of this configuration with random weights of realistic size (PyTorch names,
// configuration in the metadata), the same for the same configuration: speed does not depend on
// what a model has learnt.
Status write_random_checkpoint(const std::string& path, ReUseConfig config);

}  // namespace hiss::models::re_use
