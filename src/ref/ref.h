// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/element.h"
#include "hiss/executor.h"
#include "hiss/kernel.h"
#include "hiss/tensor.h"

// What the reference kernels share: they read like the formulas of the contracts and compute in
// double whatever the types of the tensors are.
namespace hiss::ref {

// Element v(i, j, ...), exactly.
template <class... I>
double at(const ConstTensorView& v, I... i) {
  return load_element(v, offset_of(v, Index{i...}));
}

// An optional element.
template <class... I>
double at_or(double otherwise, const ConstTensorView& v, I... i) {
  return v.present() ? at(v, i...) : otherwise;
}

// v(i, j, ...) = value, rounded to the type of v.
template <class... I>
void put(double value, const TensorView& v, I... i) {
  store_element(v, offset_of(v, Index{i...}), value);
}

// What a value becomes when it is stored in a tensor of this type.
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
