// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/float16.h"
#include "hiss/executor.h"
#include "hiss/kernel.h"
#include "hiss/tensor.h"

// What the reference kernels share: they read like the formulas of the contracts and compute in
// double whatever the types of the tensors are.
namespace hiss::ref {

// Element v(i, j, ...), exactly.
template <class... Index>
double at(const ConstTensorView& v, Index... index) {
  int64_t offset = 0;
  int axis = 0;
  ((offset += index * v.stride[axis++]), ...);
  switch (v.dtype) {
    case DType::kBF16:
      return float_from_bf16(v.as<uint16_t>()[offset]);
    case DType::kF16:
      return float_from_f16(v.as<uint16_t>()[offset]);
    default:
      return v.as<float>()[offset];
  }
}

// An optional element.
template <class... Index>
double at_or(double otherwise, const ConstTensorView& v, Index... index) {
  return v.present() ? at(v, index...) : otherwise;
}

// v(i, j, ...) = value, rounded to the type of v.
template <class... Index>
void put(double value, const TensorView& v, Index... index) {
  int64_t offset = 0;
  int axis = 0;
  ((offset += index * v.stride[axis++]), ...);
  const float rounded = static_cast<float>(value);
  switch (v.dtype) {
    case DType::kBF16:
      v.as<uint16_t>()[offset] = bf16_from_float(rounded);
      break;
    case DType::kF16:
      v.as<uint16_t>()[offset] = f16_from_float(rounded);
      break;
    default:
      v.as<float>()[offset] = rounded;
  }
}

// What value becomes when it is stored in a tensor of this type.
inline double rounded_to(DType dtype, double value) {
  const float rounded = static_cast<float>(value);
  if (dtype == DType::kBF16) return float_from_bf16(bf16_from_float(rounded));
  if (dtype == DType::kF16) return float_from_f16(f16_from_float(rounded));
  return rounded;
}

inline double silu(double v) { return v / (1.0 + std::exp(-v)); }
inline double softplus(double v) { return v > 20.0 ? v : std::log1p(std::exp(v)); }

// delta = clamp(softplus(v), dt_min, dt_max) for any Args with these options. NaN stays NaN.
template <class Args>
double step_size(const Args& args, double v) {
  const double delta = args.dt_softplus ? softplus(v) : v;
  return std::clamp(delta, double{args.dt_min}, double{args.dt_max});
}

// A from what the tensor A holds.
template <class Args>
double decay_rate(const Args& args, double a) {
  return args.A_is_log ? -std::exp(a) : a;
}

// Independent items are dealt out in this many runs at most, whatever the number of workers, so
// that the workspace of a plan does not depend on who executes it.
inline constexpr int64_t kMaxTasks = 64;
inline int64_t tasks_for(int64_t items) { return std::min(items, kMaxTasks); }

// Calls body(item, task) for each item; items of one task run one after another.
template <class Body>
void for_each_item(const Launch& launch, int64_t items, Body&& body) {
  const int64_t tasks = tasks_for(items);
  Executor& executor = launch.executor != nullptr ? *launch.executor : serial_executor();
  executor.run(tasks, [&](int64_t task, int) {
    const int64_t begin = items / tasks * task + std::min(task, items % tasks);
    const int64_t end = begin + items / tasks + (task < items % tasks ? 1 : 0);
    for (int64_t item = begin; item < end; ++item) body(item, task);
  });
}

}  // namespace hiss::ref
