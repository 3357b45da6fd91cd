// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "device_tensors.h"
#include "hiss/ops/all.h"

// A case of cases.py as arguments of our operators, in device memory.
namespace hiss::bench {

// Throws nlohmann::json::exception where a size is missing.
template <class Op>
typename Op::Args make_args(const nlohmann::json& work, DeviceTensors& tensors);

// The part of the arguments, inputs and outputs, that is computed again on the host: some channels
// of the last sequence. What they depend on is in it.
CausalConv1d::Args sample_of(CausalConv1d::Args args);
CausalConv1dUpdate::Args sample_of(CausalConv1dUpdate::Args args);
SelectiveScan::Args sample_of(SelectiveScan::Args args);
SsdChunkScan::Args sample_of(SsdChunkScan::Args args);
SelectiveStateUpdate::Args sample_of(SelectiveStateUpdate::Args args);

}  // namespace hiss::bench
