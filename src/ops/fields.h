// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "hiss/ops/all.h"

// The arguments of the operators by name: what reads, copies, compares or writes whole sets of
// arguments walks these.
//   tensors(args, f)  f(name, view): a ConstTensorView is an input, a TensorView an output. `state`
//                     is both.
//   options(args, f)  f(name, value): all but the precision class.
namespace hiss::ops {

template <class Op>
struct Fields;

template <>
struct Fields<CausalConv1d> {
  static constexpr bool kStatesAreCopies = true;
  template <class Args, class F>
  static void tensors(Args& a, F&& f) {
    f("x", a.x), f("weight", a.weight), f("bias", a.bias), f("initial_state", a.initial_state);
    f("cu_seqlens", a.cu_seqlens), f("final_state", a.final_state), f("y", a.y);
  }
  template <class Args, class F>
  static void options(Args& a, F&& f) {
    f("activation", a.activation), f("direction", a.direction);
  }
};

template <>
struct Fields<CausalConv1dUpdate> {
  static constexpr bool kStatesAreCopies = true;
  template <class Args, class F>
  static void tensors(Args& a, F&& f) {
    f("x", a.x), f("weight", a.weight), f("bias", a.bias), f("state_indices", a.state_indices);
    f("state", a.state), f("snapshots", a.snapshots), f("y", a.y);
  }
  template <class Args, class F>
  static void options(Args& a, F&& f) {
    f("activation", a.activation);
  }
};

template <>
struct Fields<SelectiveScan> {
  static constexpr bool kStatesAreCopies = false;
  template <class Args, class F>
  static void tensors(Args& a, F&& f) {
    f("u", a.u), f("dt", a.dt), f("A", a.A), f("B", a.B), f("C", a.C), f("D", a.D), f("z", a.z);
    f("dt_bias", a.dt_bias), f("initial_state", a.initial_state);
    f("checkpoint_tokens", a.checkpoint_tokens), f("cu_seqlens", a.cu_seqlens);
    f("final_state", a.final_state), f("checkpoint_states", a.checkpoint_states), f("y", a.y);
  }
  template <class Args, class F>
  static void options(Args& a, F&& f) {
    f("dt_softplus", a.dt_softplus), f("A_is_log", a.A_is_log);
    f("dt_min", a.dt_min), f("dt_max", a.dt_max), f("direction", a.direction);
  }
};

template <>
struct Fields<SsdChunkScan> {
  static constexpr bool kStatesAreCopies = false;
  template <class Args, class F>
  static void tensors(Args& a, F&& f) {
    f("x", a.x), f("dt", a.dt), f("A", a.A), f("B", a.B), f("C", a.C), f("D", a.D), f("z", a.z);
    f("dt_bias", a.dt_bias), f("initial_states", a.initial_states);
    f("checkpoint_tokens", a.checkpoint_tokens), f("cu_seqlens", a.cu_seqlens);
    f("final_states", a.final_states), f("checkpoint_states", a.checkpoint_states), f("y", a.y);
  }
  template <class Args, class F>
  static void options(Args& a, F&& f) {
    f("dt_softplus", a.dt_softplus), f("A_is_log", a.A_is_log);
    f("dt_min", a.dt_min), f("dt_max", a.dt_max);
  }
};

template <>
struct Fields<SelectiveStateUpdate> {
  static constexpr bool kStatesAreCopies = false;
  template <class Args, class F>
  static void tensors(Args& a, F&& f) {
    f("x", a.x), f("dt", a.dt), f("A", a.A), f("B", a.B), f("C", a.C), f("D", a.D), f("z", a.z);
    f("dt_bias", a.dt_bias), f("state_indices", a.state_indices);
    f("state", a.state), f("snapshots", a.snapshots), f("y", a.y);
  }
  template <class Args, class F>
  static void options(Args& a, F&& f) {
    f("dt_softplus", a.dt_softplus), f("A_is_log", a.A_is_log);
    f("dt_min", a.dt_min), f("dt_max", a.dt_max);
  }
};

// The bound for one output tensor of this name and type.
template <class Op>
ErrorBound bound_of(typename Op::Problem problem, std::string_view tensor, DType dtype) {
  if (tensor == "y") return Op::error_bound(problem);
  if (Fields<Op>::kStatesAreCopies) return {};
  problem.dtype = dtype;
  return Op::error_bound(problem);
}

}  // namespace hiss::ops
