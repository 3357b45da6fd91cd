// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "hiss/machine.h"
#include "hiss/status.h"

namespace hiss::app {

// A machine that may not be here, from the names of what it has: "avx2", "avx512,sm_90". An x86
// instruction set brings the older ones along, sm_NN is a CUDA device of that architecture. Empty:
// this machine. kInvalidArgument: another name.
Result<Machine> machine_from(std::string_view names);

}  // namespace hiss::app
