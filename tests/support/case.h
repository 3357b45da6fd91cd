// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hiss/ops/all.h"
#include "support/tensor_set.h"

namespace hiss::testing_support {

// One problem with its data. The first case of an operator is the base row, every other changes one
// thing and is named after it. Tests run all of them, benches those named after models.
template <class Op>
struct Case {
  std::string name;
  std::function<typename Op::Args(TensorSet&)> make;
};

// Defined for each operator in <op>_cases.cc.
template <class Op>
std::vector<Case<Op>> cases();

// The seed of a case's tensors.
inline uint64_t seed_of(const std::string& name) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace hiss::testing_support
