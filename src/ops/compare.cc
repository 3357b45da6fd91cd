// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace hiss::ops {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string place(const ConstTensorView& view, const Index& index) {
  std::string text = "[";
  for (int axis = 0; axis < view.rank; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(index[axis]);
  }
  return text + "]";
}

bool same_special(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

// error / allowed, where nothing is allowed nothing may be off.
double share(double error, double allowed) {
  if (error == 0) return 0;
  return allowed > 0 ? error / allowed : kInf;
}

struct Sums {
  double expected = 0, error = 0;
  int64_t count = 0;
};

}  // namespace

Comparison compare(const ConstTensorView& result, const ConstTensorView& expected,
                   const ErrorBound& bound) {
  Comparison c;
  bool same_shape = result.rank == expected.rank;
  for (int axis = 0; same_shape && axis < result.rank; ++axis)
    same_shape = result.shape[axis] == expected.shape[axis];
  if (!same_shape) {
    c.ratio = kInf;
    c.text = "shape: got " + to_string(result) + ", want " + to_string(expected);
    return c;
  }
  const auto value = [](const ConstTensorView& view, const Index& index) {
    return load_element(view, offset_of(view, index));
  };

  Sums sums;
  bool special = false;
  for_each_index(expected, [&](const Index& index) {
    const double r = value(result, index), e = value(expected, index);
    if (std::isfinite(r) && std::isfinite(e)) {
      sums.expected += e * e;
      sums.error += (r - e) * (r - e);
      ++sums.count;
    } else if (!same_special(r, e) && !special) {
      special = true;
      c.worst = index;
      c.text = "at " + place(result, index) + ": got " + number(r) + ", want " + number(e);
    }
  });
  if (special) {
    c.ratio = kInf;
    return c;
  }

  const double count = sums.count > 0 ? static_cast<double>(sums.count) : 1.0;
  const double rms = std::sqrt(sums.expected / count);
  const double error_rms = std::sqrt(sums.error / count);
  c.relative_rms = error_rms == 0 ? 0 : error_rms / rms;
  double worst_share = -1;
  for_each_index(expected, [&](const Index& index) {
    const double r = value(result, index), e = value(expected, index);
    if (!std::isfinite(e)) return;
    const double error = std::abs(r - e);
    const double used = share(error, bound.max_over_rms * rms + bound.relative * std::abs(e));
    c.max_error = std::max(c.max_error, error);
    if (used <= worst_share) return;
    worst_share = used;
    c.worst = index;
  });
  c.ratio = std::max({0.0, worst_share, share(error_rms, bound.relative_rms * rms)});
  c.within = c.ratio <= 1;
  c.text = "relative rms " + number(c.relative_rms) + " (bound " + number(bound.relative_rms) + ")";
  if (sums.count > 0)
    c.text += ", worst at " + place(result, c.worst) + ": got " + number(value(result, c.worst)) +
              ", want " + number(value(expected, c.worst)) + ", " + number(worst_share) +
              " of the bound";
  return c;
}

}  // namespace hiss::ops
