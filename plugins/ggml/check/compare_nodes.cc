// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "compare_nodes.h"

#include <cmath>
#include <limits>

#include "problem.h"

namespace hiss::ggml {

double nmse(const std::vector<float>& result, const std::vector<float>& reference) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (result.size() != reference.size()) return kInfinite;
  double difference = 0, energy = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    const float r = result[i], e = reference[i];
    const bool unwritten = r == BuiltNode::kUnwritten;
    if (unwritten != (e == BuiltNode::kUnwritten)) return kInfinite;
    if (unwritten || (std::isnan(r) && std::isnan(e))) continue;
    if (!std::isfinite(r) || !std::isfinite(e)) {
      if (r != e) return kInfinite;
      continue;
    }
    difference += (double{r} - e) * (double{r} - e);
    energy += double{e} * e;
  }
  if (difference == 0) return 0;
  return energy == 0 ? kInfinite : difference / energy;
}

}  // namespace hiss::ggml
