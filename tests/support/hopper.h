// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hiss/machine.h"

namespace hiss {

// A computer with an NVIDIA H200, for asking kernels what they take where there is none.
inline Machine hopper() {
  Machine machine;
  machine.cuda_sm = 90;
  machine.num_sms = 132;
  machine.shared_bytes_per_sm = 228 << 10;
  return machine;
}

}  // namespace hiss
