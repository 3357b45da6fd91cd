// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "replay_timer.h"

#include <algorithm>
#include <vector>

#include "device_tensors.h"

namespace hiss::bench {
namespace {

constexpr double kMeasureMs = 25;
constexpr int64_t kRotatingBytes = 200 << 20;

}  // namespace

Times time_replayed(int64_t calls, const std::function<void(int64_t)>& launch,
                    cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capturing");
  for (int64_t call = 0; call < calls; ++call) launch(call);
  ok(cudaStreamEndCapture(stream, &graph), "capturing");
  ok(cudaGraphInstantiate(&replay, graph, 0), "making a graph");
  cudaEvent_t begin, end;
  ok(cudaEventCreate(&begin), "an event"), ok(cudaEventCreate(&end), "an event");
  const auto once = [&] {
    ok(cudaEventRecord(begin, stream), "timing");
    ok(cudaGraphLaunch(replay, stream), "replaying");
    ok(cudaEventRecord(end, stream), "timing");
    ok(cudaEventSynchronize(end), "replaying");
    float ms = 0;
    ok(cudaEventElapsedTime(&ms, begin, end), "timing");
    return static_cast<double>(ms);
  };
  once();
  const double ms = std::max(once(), 1e-3);
  std::vector<double> times(static_cast<size_t>(std::clamp(kMeasureMs / ms, 5.0, 200.0)));
  for (double& time : times) time = once() / static_cast<double>(calls);
  std::sort(times.begin(), times.end());
  cudaEventDestroy(begin), cudaEventDestroy(end);
  cudaGraphExecDestroy(replay), cudaGraphDestroy(graph);
  const size_t n = times.size();
  return {times[n / 2], (times[n * 3 / 4] - times[n / 4]) / times[n / 2]};
}

int64_t rotating_sets(int64_t bytes) {
  return std::clamp<int64_t>((kRotatingBytes + bytes - 1) / std::max<int64_t>(1, bytes), 2, 48);
}

}  // namespace hiss::bench
