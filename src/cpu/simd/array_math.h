// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hiss/machine.h"

namespace hiss::cpu {

// Functions of arrays of F32, for one instruction set. x, y and results are n floats; a result may
// be the memory of an argument, otherwise they do not overlap. NaN gives NaN. The errors (ULP) are
// those tests/cpu/math_test.cc holds them to; docs/kernels/simd_math.md has the table.
struct ArrayMath {
  using Unary = void (*)(const float* x, int64_t n, float* result);

  std::string_view isa;  // "avx512" ..., "baseline": the C library, one by one
  Unary exp;             // correct down to the subnormals
  Unary expm1;
  Unary log1p;     // of x > -1
  Unary softplus;  // log(1 + exp(x))
  Unary sigmoid;   // 1 / (1 + exp(-x))
  Unary silu;      // x / (1 + exp(-x))
  // Of |x| <= 39000.
  void (*sincos)(const float* x, int64_t n, float* sine, float* cosine);
  // The angle of (x, y) in [-pi, pi], for signed zeros and infinities as std::atan2.
  void (*atan2)(const float* y, const float* x, int64_t n, float* angle);
};

// The best for this machine.
const ArrayMath& array_math();

// Every one that is compiled in and that the machine has, best first.
std::vector<const ArrayMath*> all_array_math(const Machine& machine);

}  // namespace hiss::cpu
