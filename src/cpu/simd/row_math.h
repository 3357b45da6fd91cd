// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hiss/machine.h"

namespace hiss::cpu {

// What networks do to rows of channels between products, for one instruction set.
struct RowMath {
  std::string_view isa;  // "avx512" ..., "baseline": one by one
  // n floats rounded to nearest even; NaN stays NaN.
  void (*to_bf16)(const float* x, int64_t n, uint16_t* result);
};

// The best for this machine.
const RowMath& row_math();

// Every one that is compiled in and that the machine has, best first.
std::vector<const RowMath*> all_row_math(const Machine& machine);

}  // namespace hiss::cpu
