// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "device_set.h"
#include "hiss/kernel.h"

namespace hiss::bench {

// A kernel with its arguments on the device and a workspace of exactly the size it asked for.
template <class Op>
class DeviceRun {
 public:
  DeviceRun(const Kernel<Op>& kernel, const typename Op::Args& args, DeviceSet& set)
      : kernel_(kernel), args_(args) {
    const typename Op::Problem problem = Op::describe(args);
    const size_t bytes =
        kernel.workspace_bytes ? kernel.workspace_bytes(problem, this_machine()) : 0;
    if (bytes > 0) workspace_ = {set.bytes(static_cast<int64_t>(bytes)), bytes};
    // What filled the tensors ran in another stream.
    must(cudaDeviceSynchronize(), "filling");
  }

  Status launch(cudaStream_t stream) const {
    return kernel_.run(args_, {.workspace = workspace_, .stream = stream});
  }

 private:
  const Kernel<Op>& kernel_;
  typename Op::Args args_;
  std::span<std::byte> workspace_;
};

// Work recorded once in a stream and replayed: shows that it can be, and takes the launches out of
// the times.
class Graph {
 public:
  // `record` launches into a stream and returns a Status.
  template <class Record>
  static Status run(cudaStream_t stream, Record&& record, auto&& replays) {
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    const Status status = record(stream);
    cudaGraph_t graph = nullptr;
    const cudaError_t captured = cudaStreamEndCapture(stream, &graph);
    if (!status.ok()) return status;
    must(captured, "a kernel that cannot be captured");
    cudaGraphExec_t executable = nullptr;
    must(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
    replays(executable);
    must(cudaStreamSynchronize(stream), "run");
    must(cudaGraphExecDestroy(executable), "graph");
    must(cudaGraphDestroy(graph), "graph");
    return {};
  }
};

// The kernels that `record` launches into a stream, without running them.
struct Launches {
  std::vector<const void*> functions;
  bool shared_memory = false;  // one of them has some
};
template <class Record>
Launches launches_of(cudaStream_t stream, Record&& record) {
  Launches launches;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  const Status status = record(stream);
  cudaGraph_t graph = nullptr;
  must(cudaStreamEndCapture(stream, &graph), "capture");
  if (!status.ok()) give_up(status.message().c_str());
  size_t count = 0;
  must(cudaGraphGetNodes(graph, nullptr, &count), "nodes");
  std::vector<cudaGraphNode_t> nodes(count);
  must(cudaGraphGetNodes(graph, nodes.data(), &count), "nodes");
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type;
    must(cudaGraphNodeGetType(node, &type), "node");
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams params{};
    must(cudaGraphKernelNodeGetParams(node, &params), "node");
    cudaFuncAttributes attributes{};
    must(cudaFuncGetAttributes(&attributes, params.func), "function");
    launches.functions.push_back(params.func);
    launches.shared_memory |= attributes.sharedSizeBytes + params.sharedMemBytes > 0;
  }
  must(cudaGraphDestroy(graph), "graph");
  return launches;
}

}  // namespace hiss::bench
