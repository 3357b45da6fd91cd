// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "device_set.h"
#include "hiss/ops/all.h"

namespace hiss::bench {

// A problem of a real model, or one larger than an index of 32 bits, with its data on the device.
template <class Op>
struct GpuShape {
  std::string name;
  std::function<typename Op::Args(DeviceSet&)> make;
  bool timed = true;
};

// Defined in shapes_of_*.cc.
template <class Op>
std::vector<GpuShape<Op>> gpu_shapes();

// Those of this operator in a list that cases.py printed. Throws json::exception where it is not
// one.
template <class Op>
std::vector<GpuShape<Op>> shapes_of_file(const nlohmann::json& cases);

}  // namespace hiss::bench
