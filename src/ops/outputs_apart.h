// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ops/check.h"
#include "ops/fields.h"

namespace hiss::ops {

// want_apart() over all tensors of an operator's arguments.
template <class Op>
Status want_outputs_apart(const typename Op::Args& args,
                          std::initializer_list<Pair> may_be_same = {}) {
  std::vector<Named> inputs, outputs;
  Fields<Op>::tensors(args, [&]<class View>(std::string_view name, const View& view) {
    if constexpr (std::is_same_v<View, TensorView>)
      outputs.insert(outputs.begin(), {name, view});  // y is listed last: name it first
    else
      inputs.push_back({name, view});
  });
  return want_apart(inputs, outputs, may_be_same);
}

}  // namespace hiss::ops
