// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "hiss/status.h"

namespace hiss::app {

// The model to load: `asked` when that is not empty, else the bundled one. The bundled model is
// looked for, in this order,
//   1. in the installation the program belongs to (../share/hiss/models, seen from the program),
//   2. in the source tree the program was built from.
// kNotFound names both places.
Result<std::string> find_model(const std::string& asked);

}  // namespace hiss::app
