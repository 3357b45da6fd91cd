// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "device_run.h"
#include "ops/fields.h"

namespace hiss::bench {

// Of one call, in microseconds, from replays of a graph of many.
struct Times {
  double median_us = 0, spread = 0;  // spread: of the middle half, over the median
  double direct_us = 0;              // the same calls launched one by one, 0: not measured
};

// What a call has to do at least, and the device's rates.
struct Bound {
  double us = 0;
  const char* kind = "memory";
};
struct Peaks {
  double copied_bytes = 0;  // a second, read and written; measured
  double issue = 0;         // lane operations a second
  double matrix_bf16 = 0;   // floating-point operations a second of the matrix units
};

// Bytes of the elements that are there: a broadcast axis counts once, `state` is read and written.
template <class Op>
double bytes_of(const typename Op::Args& args) {
  double bytes = 0;
  ops::Fields<Op>::tensors(args, [&](std::string_view name, const auto& view) {
    if (!view.present()) return;
    double elements = 1;
    for (int axis = 0; axis < view.rank; ++axis)
      if (view.stride[axis] != 0) elements *= static_cast<double>(view.shape[axis]);
    bytes += elements * static_cast<double>(size_of(view.dtype)) * (name == "state" ? 2 : 1);
  });
  return bytes;
}

inline double operations_bound(const auto&, const Peaks&) { return 0; }
// Four operations a state and token: decay's argument, exponential, update, output.
inline double operations_bound(const SelectiveScan::Args& a, const Peaks& peaks) {
  return 4e6 * static_cast<double>(a.u.elements() * a.A.shape[1]) / peaks.issue;
}
// Matrix products in chunks of 128 tokens, causal halves left out, C B' once a group; a standard
// product is three of bf16.
inline double operations_bound(const SsdChunkScan::Args& a, const Peaks& peaks) {
  constexpr double kChunk = 128;
  const auto p = static_cast<double>(a.x.shape[3]), n = static_cast<double>(a.B.shape[3]);
  const auto tokens = static_cast<double>(a.x.shape[0] * a.x.shape[1]);
  const double per_head = kChunk * p + 4 * p * n;
  const double operations = tokens * (static_cast<double>(a.x.shape[2]) * per_head +
                                      static_cast<double>(a.B.shape[2]) * kChunk * n);
  return 1e6 * operations * (a.precision == Precision::kFast ? 1 : 3) / peaks.matrix_bf16;
}

template <class Op>
Bound bound_of_call(const typename Op::Args& args, const Peaks& peaks) {
  const double memory = 1e6 * bytes_of<Op>(args) / peaks.copied_bytes;
  const double operations = operations_bound(args, peaks);
  if (memory >= operations) return {memory, "memory"};
  return {operations, std::is_same_v<Op, SsdChunkScan> ? "matrix" : "issue"};
}

// Medians of what `run` takes, in microseconds, over `count`, and of the middle half over them.
template <class Run>
Times time_runs(size_t count, Run&& run, cudaStream_t stream, bool quick) {
  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin), "event");
  must(cudaEventCreate(&end), "event");
  std::vector<double> us;
  float total = 0;
  const size_t least = quick ? 5 : 15;
  for (size_t i = 0; i < 3 + least || (total < (quick ? 5 : 20) && i < 200); ++i) {
    must(cudaEventRecord(begin, stream), "event");
    run();
    must(cudaEventRecord(end, stream), "event");
    must(cudaEventSynchronize(end), "run");
    float ms = 0;
    must(cudaEventElapsedTime(&ms, begin, end), "event");
    if (i >= 3) us.push_back(1e3 * ms / static_cast<double>(count)), total += ms;
  }
  must(cudaEventDestroy(begin), "event");
  must(cudaEventDestroy(end), "event");
  std::sort(us.begin(), us.end());
  const double median = us[us.size() / 2];
  return {median, (us[us.size() * 3 / 4] - us[us.size() / 4]) / median};
}

// The time of one of `count` calls that `record` launches into a stream, from replays of their
// graph.
template <class Record>
Times time_calls(size_t count, Record&& record, cudaStream_t stream, bool quick) {
  Times times;
  const Status status = Graph::run(stream, record, [&](cudaGraphExec_t graph) {
    const auto replay = [&] { must(cudaGraphLaunch(graph, stream), "launch"); };
    times = time_runs(count, replay, stream, quick);
  });
  if (!status.ok()) give_up(status.message().c_str());
  return times;
}

// As peers/timing.py has them: bytes of inputs that no cache holds together.
constexpr double kCold = 200 << 20;
constexpr size_t kMostSets = 128;

// Several sets of inputs, so that together they are larger than the cache twice over.
template <class Op>
Times time_kernel(const Kernel<Op>& kernel,
                  const std::function<typename Op::Args(DeviceSet&)>& make, cudaStream_t stream,
                  bool quick) {
  std::deque<DeviceSet> sets;
  std::deque<DeviceRun<Op>> runs;
  double bytes = 0;
  while (runs.empty() || (bytes < kCold && runs.size() < kMostSets)) {
    DeviceSet& set = sets.emplace_back(1000 + sets.size());
    const typename Op::Args args = make(set);
    bytes += bytes_of<Op>(args);
    runs.emplace_back(kernel, args, set);
  }
  const auto record = [&](cudaStream_t s) -> Status {
    for (const auto& run : runs) HISS_RETURN_IF_ERROR(run.launch(s));
    return {};
  };
  Times times = time_calls(runs.size(), record, stream, quick);
  const auto launch = [&] {
    if (const Status status = record(stream); !status.ok()) give_up(status.message().c_str());
  };
  times.direct_us = time_runs(runs.size(), launch, stream, quick).median_us;
  return times;
}

// What a plain copy takes that reads and writes as many bytes together, measured in the same way.
inline Times time_copy(double bytes, cudaStream_t stream, bool quick) {
  const int64_t half = static_cast<int64_t>(bytes / 32 + 1) * 16;
  const auto count =
      static_cast<size_t>(std::clamp(kCold / bytes + 1, 1.0, static_cast<double>(kMostSets)));
  DeviceSet set(1);
  const auto elements = static_cast<int64_t>(count) * half / 4;
  const ConstTensorView from = set.input(DType::kF32, {elements}, testing_support::normal());
  const TensorView to = set.output(DType::kF32, {elements});
  must(cudaDeviceSynchronize(), "filling");
  const auto record = [&](cudaStream_t s) -> Status {
    for (size_t i = 0; i < count; ++i) {
      const auto at = static_cast<int64_t>(i) * half;
      copy(static_cast<const std::byte*>(from.data) + at, static_cast<std::byte*>(to.data) + at,
           half, s);
    }
    return {};
  };
  return time_calls(count, record, stream, quick);
}

}  // namespace hiss::bench
