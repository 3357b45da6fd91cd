// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <deque>
#include <future>
#include <string>
#include <type_traits>
#include <vector>

#include "case_check.h"
#include "slice.h"

// A kernel on a problem too large for the reference: parts of it are recomputed on the host.
namespace hiss::bench {

// The arguments of a part in host memory, floats as F32.
template <class Op>
class HostPart {
 public:
  explicit HostPart(const typename Op::Args& part) : args_(part) {
    args_.device = Device::kCpu;
    ops::Fields<Op>::tensors(args_, [&](std::string_view, auto& view) { view = copy(view); });
  }
  const typename Op::Args& args() const { return args_; }

 private:
  template <class View>
  View copy(const View& view) {
    if (!view.present()) return view;
    if (view.dtype == DType::kI32 || view.dtype == DType::kI64) {
      memory_.emplace_back(static_cast<size_t>(view.elements() * 2 + 1));
      must(cudaMemcpy(memory_.back().data(), view.data,
                      static_cast<size_t>(view.elements() * size_of(view.dtype)),
                      cudaMemcpyDeviceToHost),
           "indices");
      View host = view;
      host.data = memory_.back().data();
      return host;
    }
    memory_.push_back(gather(view));
    memory_.back().push_back(0);
    TensorView dense = with_shape(view);
    dense.data = memory_.back().data();
    return dense;
  }
  template <class View>
  static TensorView with_shape(const View& view) {
    TensorView dense;
    dense.rank = view.rank, dense.shape = view.shape;
    int64_t step = 1;
    for (int axis = view.rank - 1; axis >= 0; --axis) {
      dense.stride[axis] = step;
      step *= view.shape[axis];
    }
    return dense;
  }

  typename Op::Args args_;
  std::deque<std::vector<float>> memory_;
};

// After one launch on fresh data: parts of the result, guards, and the same bits a second time.
template <class Op>
Verdict check_shape(const Kernel<Op>& kernel,
                    const std::function<typename Op::Args(DeviceSet&)>& make, uint64_t seed,
                    cudaStream_t stream) {
  Verdict verdict;
  DeviceSet set(seed);
  const typename Op::Args args = make(set);
  verdict.declined = kernel.declines(Op::describe(args), this_machine());
  if (!verdict.declined.empty()) return verdict;
  verdict.ran = true;
  if (const Status status = Op::check(args); !status.ok()) {
    verdict.wrong = status.message();
    return verdict;
  }
  std::deque<typename Op::Args> parts;
  std::deque<HostPart<Op>> before;
  for (const double where : {0.0, 0.37, 0.999999}) {
    parts.push_back(slice(args, where));
    before.emplace_back(parts.back());
  }
  const DeviceRun<Op> run(kernel, args, set);
  if (const Status status = run.launch(stream); !status.ok()) {
    verdict.wrong = status.message();
    return verdict;
  }
  must(cudaStreamSynchronize(stream), "run");
  std::vector<std::future<Status>> references;
  for (const HostPart<Op>& part : before)
    references.push_back(std::async(std::launch::async, [&part] {
      return testing_support::run_kernel(*kernels<Op>().back(), part.args());
    }));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (const Status status = references[i].get(); !status.ok()) {
      verdict.wrong = "the reference: " + status.message();
      return verdict;
    }
    const typename Op::Problem problem = Op::describe(args);
    const HostPart<Op> after(parts[i]);
    ops::Fields<Op>::tensors(parts[i], [&]<class View>(std::string_view name, const View& typed) {
      if constexpr (std::is_same_v<View, TensorView>) {
        if (!typed.present()) return;
        const ConstTensorView got = tensor_named<Op>(after.args(), name);
        const ConstTensorView want = tensor_named<Op>(before[i].args(), name);
        const auto c = ops::compare(got, want, ops::bound_of<Op>(problem, name, typed.dtype));
        verdict.share = std::max(verdict.share, c.ratio);
        if (name == "y") verdict.error = std::max(verdict.error, c.relative_rms);
        if (!c.within)
          verdict.wrong = std::string(name) + " of part " + std::to_string(i) + ": " + c.text;
      }
    });
  }
  if (verdict.wrong.empty())
    if (const int64_t stray = set.stray_bytes(); stray > 0)
      verdict.wrong = std::to_string(stray) + " bytes outside the tensors were written";
  return verdict;
}

}  // namespace hiss::bench
