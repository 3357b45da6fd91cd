// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "contenders/contender.h"

namespace hiss::bench {

Result<std::unique_ptr<Contender>> open_torch(const std::string&) {
  return NotFound("torch: not here");
}

}  // namespace hiss::bench
