// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "hiss/tensor.h"
#include "ops/fields.h"

// Arguments of an operator cut, reduced or turned round: what the laws compare.
namespace hiss::testing_support {

// Tensors whose axis 1 is the sequence, whatever operator they belong to.
inline bool along_the_sequence(std::string_view name) {
  return name == "x" || name == "u" || name == "dt" || name == "z" || name == "B" || name == "C" ||
         name == "y";
}

// The arguments for `count` tokens from `begin` on.
template <class Args>
Args tokens(Args args, int64_t begin, int64_t count, auto op) {
  ops::Fields<decltype(op)>::tensors(args, [&](std::string_view name, auto& view) {
    if (!along_the_sequence(name) || !view.present()) return;
    using Byte = std::conditional_t<std::is_same_v<std::remove_cvref_t<decltype(view)>, TensorView>,
                                    std::byte, const std::byte>;
    view.data = static_cast<Byte*>(view.data) + begin * view.stride[1] * size_of(view.dtype);
    view.shape[1] = count;
  });
  return args;
}

// Row `index` of axis 0 alone.
template <class View>
View row(View view, int64_t index) {
  if (!view.present()) return view;
  view.data = const_cast<char*>(static_cast<const char*>(view.data)) +
              index * view.stride[0] * size_of(view.dtype);
  view.shape[0] = 1;
  return view;
}

// The view with an axis turned round.
template <class View>
View flipped(View view, int axis) {
  if (!view.present()) return view;
  view.data = const_cast<char*>(static_cast<const char*>(view.data)) +
              (view.shape[axis] - 1) * view.stride[axis] * size_of(view.dtype);
  view.stride[axis] = -view.stride[axis];
  return view;
}

template <class Args>
auto& initial(Args& args) {
  if constexpr (requires { args.initial_states; })
    return args.initial_states;
  else
    return args.initial_state;
}
template <class Args>
auto& final(Args& args) {
  if constexpr (requires { args.final_states; })
    return args.final_states;
  else
    return args.final_state;
}

}  // namespace hiss::testing_support
