// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "case_check.h"
#include "support/pieces.h"

// What holds whatever the numbers are: a sequence may be cut anywhere, and lists of indices that
// break their rules do not make a kernel leave its tensors.
namespace hiss::bench {

inline TensorView dense_view(std::vector<float>& values, const ConstTensorView& like) {
  TensorView view;
  view.rank = like.rank, view.shape = like.shape;
  int64_t step = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    view.stride[axis] = step;
    step *= view.shape[axis];
  }
  values.push_back(0);
  view.data = values.data();
  return view;
}

// Empty, or how y and the final state of two runs differ: at all in the strict class, by more than
// two bounds in the others.
template <class Op>
std::string disagreement(const typename Op::Args& a, const typename Op::Args& b) {
  if (a.precision == Precision::kStrict) {
    const int64_t differing = count_differing_outputs<Op>(a, b);
    return differing == 0 ? "" : std::to_string(differing) + " elements of the strict class differ";
  }
  std::string text;
  ops::Fields<Op>::tensors(a, [&]<class View>(std::string_view name, const View& view) {
    if constexpr (std::is_same_v<View, TensorView>) {
      if (!view.present()) return;
      ErrorBound bound = ops::bound_of<Op>(Op::describe(a), name, view.dtype);
      bound = {2 * bound.relative_rms, 2 * bound.max_over_rms, 2 * bound.relative};
      std::vector<float> one = gather(view), other = gather(tensor_named<Op>(b, name));
      const auto c = ops::compare(dense_view(one, view), dense_view(other, view), bound);
      if (!c.within) text = std::string(name) + ": " + c.text;
    }
  });
  return text;
}

// A sequence whole, and in two pieces with the state handed on. Empty, or what was wrong.
template <class Op>
std::string check_cuts(const Kernel<Op>& kernel, const Case<Op>& c, uint64_t seed, Reach reach,
                       cudaStream_t stream, int& ran) {
  TensorSet host(seed);
  const typename Op::Args args = c.make(host);
  if (!is_within<Op>(args, reach)) return "";
  DeviceSet set(1);
  const Mirror<Op> whole(args, set), cut(args, set);
  const int64_t seqlen = args.y.shape[1];
  const auto accepts = [&](const typename Op::Args& a) {
    return kernel.declines(Op::describe(a), this_machine()).empty();
  };
  if (!accepts(whole.args()) || args.cu_seqlens.present()) return "";
  const auto run = [&](const typename Op::Args& a) {
    const Status status = DeviceRun<Op>(kernel, a, set).launch(stream);
    if (!status.ok()) give_up(status.message().c_str());
  };
  run(whole.args());
  for (const int64_t at : {int64_t{1}, int64_t{3}, seqlen / 2 + 1, seqlen - 1}) {
    typename Op::Args early = testing_support::tokens(cut.args(), 0, at, Op());
    typename Op::Args late = testing_support::tokens(cut.args(), at, seqlen - at, Op());
    if constexpr (requires { args.direction; })
      if (args.direction == Direction::kReverse) std::swap(early, late);
    const ConstTensorView state = testing_support::final(early);
    testing_support::final(early) =
        set.output(state.dtype, {state.shape.begin(), state.shape.begin() + state.rank});
    testing_support::initial(late) = testing_support::final(early);
    if (!accepts(early) || !accepts(late)) continue;
    run(early), run(late);
    must(cudaStreamSynchronize(stream), "run");
    ++ran;
    if (const std::string text = disagreement<Op>(cut.args(), whole.args()); !text.empty())
      return "cut at " + std::to_string(at) + ": " + text;
  }
  return "";
}

// The kernel with nonsense in its lists of indices. Empty, or what was wrong.
template <class Op>
std::string check_broken_lists(const Kernel<Op>& kernel, const Case<Op>& c, uint64_t seed,
                               Reach reach, cudaStream_t stream, int& ran) {
  TensorSet host(seed);
  const typename Op::Args args = c.make(host);
  if (!is_within<Op>(args, reach)) return "";
  DeviceSet set(1);
  const Mirror<Op> mirror(args, set);
  if (!kernel.declines(Op::describe(mirror.args()), this_machine()).empty()) return "";
  bool any = false;
  for (const int64_t step : {-1, 1, 7919}) {
    ops::Fields<Op>::tensors(mirror.args(), [&](std::string_view, const auto& view) {
      if (!view.present() || (view.dtype != DType::kI32 && view.dtype != DType::kI64)) return;
      any = any || view.elements() > 0;
      std::vector<int64_t> wide;
      for (int64_t i = 0; i < view.elements(); ++i)
        wide.push_back(step < 0 ? (i % 2 == 0 ? INT32_MAX - i : INT32_MIN + i)
                                : (view.elements() - i) * step - 3);
      const std::vector<int32_t> narrow(wide.begin(), wide.end());
      const void* from =
          view.dtype == DType::kI32 ? static_cast<const void*>(narrow.data()) : wide.data();
      must(cudaMemcpy(const_cast<void*>(static_cast<const void*>(view.data)), from,
                      wide.size() * static_cast<size_t>(size_of(view.dtype)),
                      cudaMemcpyHostToDevice),
           "indices");
    });
    if (!any) return "";
    ++ran;
    if (const Status status = DeviceRun<Op>(kernel, mirror.args(), set).launch(stream);
        !status.ok())
      return status.message();
    must(cudaStreamSynchronize(stream), "run");
  }
  const int64_t stray = set.stray_bytes();
  return stray == 0 ? "" : std::to_string(stray) + " bytes outside the tensors were written";
}

}  // namespace hiss::bench
