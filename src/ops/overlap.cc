// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "ops/check.h"

namespace hiss::ops {
namespace {

// A view as bytes: where its lowest byte is, and its axes with positive steps.
struct Footprint {
  struct Axis {
    int64_t count, step;
  };
  uintptr_t begin = 0;
  int64_t extent = 0;  // bytes from the lowest to one past the highest
  int64_t element = 0;
  std::array<Axis, kMaxRank> axes{};
  int rank = 0;
};

Footprint footprint(const ConstTensorView& view) {
  Footprint f;
  f.element = size_of(view.dtype);
  f.begin = reinterpret_cast<uintptr_t>(view.data);
  f.extent = f.element;
  for (int i = 0; i < view.rank; ++i) {
    if (view.shape[i] == 1) continue;
    const int64_t step = view.stride[i] * f.element;
    if (step < 0) f.begin -= static_cast<uintptr_t>(-step * (view.shape[i] - 1));
    f.axes[f.rank++] = {view.shape[i], std::abs(step)};
    f.extent += std::abs(step) * (view.shape[i] - 1);
  }
  // Finest first.
  for (int i = 1; i < f.rank; ++i)
    for (int k = i; k > 0 && f.axes[k].step < f.axes[k - 1].step; --k)
      std::swap(f.axes[k], f.axes[k - 1]);
  return f;
}

// Every axis steps over all that the finer ones reach, so no element is met twice.
bool nested(const Footprint& f) {
  int64_t reach = f.element;
  for (int i = 0; i < f.rank; ++i) {
    if (f.axes[i].step < reach) return false;
    reach += f.axes[i].step * (f.axes[i].count - 1);
  }
  return true;
}

// Bytes that the view covers within one period, when all its coarser axes are multiples of it.
int64_t reach_within(const Footprint& f, int64_t period) {
  int64_t reach = f.element;
  for (int i = 0; i < f.rank; ++i)
    if (f.axes[i].step % period != 0) reach += f.axes[i].step * (f.axes[i].count - 1);
  return reach;
}

// Columns of one wide row interleave in memory without meeting: with the row as period, each
// covers a window of its own.
bool apart_modulo(const Footprint& a, const Footprint& b, int64_t period) {
  if (period == 0) return false;
  const int64_t reach_a = reach_within(a, period), reach_b = reach_within(b, period);
  const bool behind = b.begin < a.begin;
  const auto distance = static_cast<int64_t>((behind ? a.begin - b.begin : b.begin - a.begin) %
                                             static_cast<uintptr_t>(period));
  const int64_t offset = behind && distance != 0 ? period - distance : distance;
  return offset >= reach_a && reach_b <= period - offset;
}

bool apart(const Footprint& a, const Footprint& b) {
  if (a.begin + static_cast<uintptr_t>(a.extent) <= b.begin) return true;
  if (b.begin + static_cast<uintptr_t>(b.extent) <= a.begin) return true;
  for (int i = 0; i < a.rank; ++i)
    if (apart_modulo(a, b, a.axes[i].step)) return true;
  for (int i = 0; i < b.rank; ++i)
    if (apart_modulo(a, b, b.axes[i].step)) return true;
  return false;
}

bool same_view(const ConstTensorView& a, const ConstTensorView& b) {
  if (a.data != b.data || a.dtype != b.dtype || a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i)
    if (a.shape[i] != b.shape[i] || (a.shape[i] > 1 && a.stride[i] != b.stride[i])) return false;
  return true;
}

}  // namespace

Status want_apart(std::span<const Named> inputs, std::span<const Named> outputs,
                  std::initializer_list<Pair> may_be_same) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Named& output = outputs[i];
    if (output.view.elements() == 0) continue;
    const Footprint written = footprint(output.view);
    if (!nested(written))
      return InvalidArgument(std::string(output.name) + ": got " + to_string(output.view) +
                             " with strides that interleave or repeat elements, want an output "
                             "whose every axis steps over the finer ones");
    const auto check = [&](const Named& other) -> Status {
      if (other.view.elements() == 0 || apart(written, footprint(other.view))) return {};
      for (const Pair& pair : may_be_same)
        if (pair.output == output.name && pair.other == other.name &&
            same_view(output.view, other.view))
          return {};
      return InvalidArgument(std::string(output.name) + ": got memory that overlaps " +
                             std::string(other.name) + ", want memory of its own");
    };
    for (const Named& input : inputs) HISS_RETURN_IF_ERROR(check(input));
    for (const Named& next : outputs.subspan(i + 1)) HISS_RETURN_IF_ERROR(check(next));
  }
  return {};
}

}  // namespace hiss::ops
