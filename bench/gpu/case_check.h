// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "coverage.h"
#include "device_run.h"
#include "ops/compare.h"
#include "support/case.h"
#include "support/expected.h"
#include "support/rounded.h"

// The cases of the tests, on the device: host tensors with their guards and gaps are copied byte
// for byte, alignment included; what comes back is judged by the tests' own means.
namespace hiss::bench {

using testing_support::Case;
using testing_support::TensorSet;

// Bytes from the first to the last element of each tensor: what its copy takes.
template <class Op>
int64_t reach_of(const typename Op::Args& args) {
  int64_t bytes = 0;
  ops::Fields<Op>::tensors(args, [&](std::string_view, const auto& view) {
    if (!view.present() || view.elements() == 0) return;
    int64_t elements = 1;
    for (int axis = 0; axis < view.rank; ++axis)
      elements += (view.shape[axis] - 1) * std::abs(view.stride[axis]);
    bytes += elements * size_of(view.dtype);
  });
  return bytes;
}

// The device's copy of the arguments of a case.
template <class Op>
class Mirror {
 public:
  Mirror(const typename Op::Args& host, DeviceSet& set) : args_(host) {
    args_.device = Device::kCuda;
    ops::Fields<Op>::tensors(args_, [&]<class View>(std::string_view, View& view) {
      if (!view.present() || view.elements() == 0) return;
      const Piece& piece = copy_of(view, set);
      const auto* from = static_cast<const std::byte*>(view.data);
      view.data = piece.device + (from - piece.host);
    });
  }
  const typename Op::Args& args() const { return args_; }

  enum class Back { kAll, kOutputs };
  // Brings everything back into the host's memory, where the test set watches for damage; or what
  // a kernel may write, where the rest is memory that nobody may.
  void bring_back(Back what = Back::kAll) const {
    for (const auto& entry : pieces_) {
      const Piece& piece = entry.second;
      if (what == Back::kOutputs && !piece.output) continue;
      for_each_run(piece, [&](int64_t at, int64_t bytes) {
        must(cudaMemcpy(piece.host + at, piece.device + at, static_cast<size_t>(bytes),
                        cudaMemcpyDeviceToHost),
             "bring back");
      });
    }
  }
  int64_t bytes() const {
    int64_t sum = 0;
    for (const auto& [host, piece] : pieces_) sum += piece.bytes;
    return sum;
  }

 private:
  struct Piece {
    std::byte *host, *device;
    int64_t bytes;
    int64_t rows, row_step, row_bytes;  // of axis 0, where what lies between is too much to copy
    bool output = false;
  };

  template <class View>
  const Piece& copy_of(const View& view, DeviceSet& set) {
    Piece& piece = piece_of(view, set);
    piece.output |= std::is_same_v<View, TensorView>;
    return piece;
  }
  template <class View>
  Piece& piece_of(const View& view, DeviceSet& set) {
    const int64_t element = size_of(view.dtype);
    int64_t below = 0, extent = element, row_bytes = element, row_below = 0;
    for (int axis = 0; axis < view.rank; ++axis) {
      const int64_t reach = (view.shape[axis] - 1) * view.stride[axis] * element;
      below += std::min<int64_t>(reach, 0), extent += std::abs(reach);
      if (axis > 0) row_bytes += std::abs(reach), row_below += std::min<int64_t>(reach, 0);
    }
    auto* host = const_cast<std::byte*>(static_cast<const std::byte*>(view.data)) + below;
    if (const auto found = pieces_.find(host); found != pieces_.end()) return found->second;
    constexpr int64_t kMuch = int64_t{64} << 20;
    Piece piece{host, nullptr, extent, 1, 0, extent};
    if (extent > kMuch)
      piece = {host, nullptr, extent, view.shape[0], view.stride[0] * element, row_bytes};
    piece.device = set.bytes(extent, static_cast<int64_t>(reinterpret_cast<uintptr_t>(host) % 256));
    for_each_run(piece, [&](int64_t at, int64_t bytes) {
      must(cudaMemcpy(piece.device + at, piece.host + at, static_cast<size_t>(bytes),
                      cudaMemcpyHostToDevice),
           "copy");
    });
    return pieces_.emplace(host, piece).first->second;
  }
  static void for_each_run(const Piece& piece, auto&& f) {
    for (int64_t row = 0; row < piece.rows; ++row) f(row * piece.row_step, piece.row_bytes);
  }

  typename Op::Args args_;
  std::map<std::byte*, Piece> pieces_;
};

struct Verdict {
  bool ran = false;
  std::string declined;
  std::string wrong;  // empty: right
  double share = 0;   // the largest share of the bound that was used
  double error = 0;   // of y, relative rms
  Coverable covers;   // of what ran
};

enum class Runs { kTwice, kOnce };

// Cases whose tensors reach past what several processes at once have memory for.
enum class Reach { kAny, kNear, kFar };
template <class Op>
bool is_within(const typename Op::Args& args, Reach reach) {
  constexpr int64_t kNear = int64_t{1} << 30;
  return reach == Reach::kAny || (reach_of<Op>(args) <= kNear) == (reach == Reach::kNear);
}

template <class Op>
ConstTensorView tensor_named(const typename Op::Args& args, std::string_view name) {
  ConstTensorView found;
  ops::Fields<Op>::tensors(args, [&](std::string_view other, const auto& view) {
    if (other == name) found = view;
  });
  return found;
}

// Every output of `got` against the same tensor of `expected`.
template <class Op>
void judge(const typename Op::Args& got, const typename Op::Args& expected, Verdict& verdict) {
  const typename Op::Problem problem = Op::describe(got);
  ops::Fields<Op>::tensors(got, [&]<class View>(std::string_view name, const View& view) {
    if constexpr (std::is_same_v<View, TensorView>) {
      if (!view.present()) return;
      const auto c = ops::compare(view, tensor_named<Op>(expected, name),
                                  ops::bound_of<Op>(problem, name, view.dtype));
      verdict.share = std::max(verdict.share, c.ratio);
      if (!c.within) verdict.wrong = std::string(name) + ": " + c.text;
    }
  });
}

template <class Op>
int64_t count_differing_outputs(const typename Op::Args& one, const typename Op::Args& other) {
  int64_t differing = 0;
  ops::Fields<Op>::tensors(one, [&]<class View>(std::string_view name, const View& view) {
    if constexpr (std::is_same_v<View, TensorView>)
      if (view.present()) differing += count_differing(view, tensor_named<Op>(other, name));
  });
  return differing;
}

// States of cases called exact, whose results float32 holds. Empty, or what was wrong.
template <class Op>
std::string misrounded_states(const std::string& name, const typename Op::Args& got,
                              const typename Op::Args& expected) {
  std::string wrong;
  if (name.find("exact_") == name.npos) return wrong;
  for (const char* state : {"final_states", "checkpoint_states"})
    if (const std::string text = testing_support::misrounded(tensor_named<Op>(got, state),
                                                             tensor_named<Op>(expected, state));
        !text.empty())
      wrong = std::string(state) + ": " + text;
  return wrong;
}

// One row on one case: replayed from a graph, then directly, which must give the same bits; or, for
// tools under which each takes its time, directly alone.
template <class Op>
Verdict check_case(const Kernel<Op>& kernel, const Case<Op>& c, uint64_t seed, cudaStream_t stream,
                   Runs runs, Reach reach) {
  Verdict verdict;
  TensorSet host(seed);
  const typename Op::Args args = c.make(host);
  if (!is_within<Op>(args, reach)) return verdict;
  typename Op::Args on_device = args;
  on_device.device = Device::kCuda;
  verdict.declined = kernel.declines(Op::describe(on_device), this_machine());
  if (!verdict.declined.empty()) return verdict;
  verdict.ran = true;

  testing_support::Expected<Op> expected(args);
  if (const Status status = expected.run(); !status.ok()) {
    verdict.wrong = "the reference: " + status.message();
    return verdict;
  }
  DeviceSet set(1), again_set(1);
  const Mirror<Op> mirror(args, set);
  if (const Status status = Op::check(mirror.args()); !status.ok()) {
    verdict.wrong = status.message();
    return verdict;
  }
  const DeviceRun<Op> run(kernel, mirror.args(), set);
  const auto record = [&](cudaStream_t s) { return run.launch(s); };
  Status status;
  int64_t differing = 0;
  constexpr int64_t kRoomForTwo = int64_t{32} << 30;
  if (runs == Runs::kOnce) {
    status = record(stream);
    must(cudaStreamSynchronize(stream), "run");
  } else {
    const typename Op::Problem problem = Op::describe(mirror.args());
    Launches launches = launches_of(stream, record);
    verdict.covers = {c.name, mirror.bytes(), traits_of<Op>(problem), std::move(launches.functions),
                      launches.shared_memory};
    status = Graph::run(stream, record, [&](cudaGraphExec_t graph) {
      must(cudaGraphLaunch(graph, stream), "launch");
    });
  }
  if (runs == Runs::kTwice && status.ok() && mirror.bytes() < kRoomForTwo) {
    const Mirror<Op> again(args, again_set);
    status = DeviceRun<Op>(kernel, again.args(), again_set).launch(stream);
    must(cudaStreamSynchronize(stream), "run");
    differing = count_differing_outputs<Op>(mirror.args(), again.args());
  }
  if (!status.ok()) {
    verdict.wrong = status.message();
    return verdict;
  }
  mirror.bring_back();
  judge<Op>(args, expected.args(), verdict);
  if (verdict.wrong.empty()) verdict.wrong = misrounded_states<Op>(c.name, args, expected.args());
  if (!verdict.wrong.empty()) return verdict;
  if (differing > 0)
    verdict.wrong = "two runs differ in " + std::to_string(differing) + " elements";
  else if (const int64_t stray = set.stray_bytes() + again_set.stray_bytes(); stray > 0)
    verdict.wrong = std::to_string(stray) + " bytes outside the tensors were written";
  else
    verdict.wrong = host.damage();
  return verdict;
}

}  // namespace hiss::bench
