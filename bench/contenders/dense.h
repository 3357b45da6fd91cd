// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "core/element.h"

namespace hiss::bench {

// The elements in row-major order of the view's indices; none of an absent view.
inline std::vector<float> dense(const ConstTensorView& view) {
  std::vector<float> values;
  if (!view.present()) return values;
  values.reserve(static_cast<size_t>(view.elements()));
  for_each_index(view, [&](const Index& index) {
    values.push_back(static_cast<float>(load_element(view, offset_of(view, index))));
  });
  return values;
}

// A row-major view of `values` with the shape of `like`.
inline TensorView view_of(std::vector<float>& values, const ConstTensorView& like) {
  TensorView view;
  view.data = values.data();
  view.rank = like.rank;
  view.shape = like.shape;
  int64_t step = 1;
  for (int axis = like.rank - 1; axis >= 0; --axis) {
    view.stride[axis] = step;
    step *= like.shape[axis];
  }
  return view;
}

}  // namespace hiss::bench
