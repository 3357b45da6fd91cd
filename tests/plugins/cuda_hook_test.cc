// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// How a CUDA device of ggml's is changed, on one that is invented: no device is needed.

#include "ggml/cuda_hook.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "ggml/backend_abi.h"
#include "plugins/dense_tensor.h"

namespace hiss::ggml {
namespace {

constexpr int kScan = 77, kOther = 3;

// What was done to the invented ggml, in order.
std::string trace;

struct InventedGraph {
  std::vector<Tensor*> nodes;
};
InventedGraph& graph_of(Graph* graph) { return *reinterpret_cast<InventedGraph*>(graph); }
int graph_n_nodes(Graph* graph) { return static_cast<int>(graph_of(graph).nodes.size()); }
Tensor* graph_node(Graph* graph, int i) { return graph_of(graph).nodes[static_cast<size_t>(i)]; }
GraphBytes graph_view(Graph*, int first, int last) {
  trace += "view " + std::to_string(first) + ".." + std::to_string(last) + " ";
  return {};
}

bool supports_op(Device*, const Tensor* node) { return node->op == kOther; }
int graph_compute(Backend*, Graph*) { return trace += "ggml ", kStatusSuccess; }
void free_backend(Backend*) { trace += "free "; }
void event_record(Backend*, Event*) { trace += "record "; }
void event_wait(Backend*, Event*) { trace += "wait "; }

Backend* made = nullptr;  // what the invented device makes
Backend* init_backend(Device*, const char*) { return made; }

template <class Layout>
Layout backend_of(Device* device) {
  Layout backend{};
  backend.functions.free = free_backend;
  backend.end.functions.graph_compute = graph_compute;
  backend.end.functions.event_record = event_record;
  backend.end.functions.event_wait = event_wait;
  backend.end.device = device;
  return backend;
}

class CudaHook : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    trace.clear();
    machine.cuda_sm = 90, machine.num_sms = 132, machine.shared_bytes_per_sm = 228 << 10;
    host.op_ssm_scan = kScan;
    host.async_copies_2d = GetParam();
    host.graph_n_nodes = graph_n_nodes, host.graph_node = graph_node;
    host.graph_view = graph_view;
    sources = {dense_tensor({64, 32, 24, 3}),       dense_tensor({32, 24, 5, 1}),
               dense_tensor({24, 5, 1, 1}),         dense_tensor({1, 24, 1, 1}),
               dense_tensor({64, 1, 5, 1}),         dense_tensor({64, 1, 5, 1}),
               dense_tensor({1, 1, 1, 1}, kTypeI32)};
    scan = dense_tensor({32 * 24 * (5 + 64), 1, 1, 1});
    scan.op = kScan;
    for (size_t i = 0; i < sources.size(); ++i) scan.src[i] = &sources[i];
    other.op = kOther;
    // Devices stay hooked: each test has one of its own.
    device = new Device{};
    device->supports_op = supports_op, device->init_backend = init_backend;
    old_layout = backend_of<OldBackend>(device), new_layout = backend_of<NewBackend>(device);
    made = GetParam() ? reinterpret_cast<Backend*>(&new_layout)
                      : reinterpret_cast<Backend*>(&old_layout);
    hook_cuda_device(host, options, log, device, machine);
  }
  BackendFunctionsEnd& functions() { return end_of(made, GetParam()).functions; }
  int compute(std::vector<Tensor*> nodes) {
    InventedGraph graph{std::move(nodes)};
    return functions().graph_compute(made, reinterpret_cast<Graph*>(&graph));
  }

  Machine machine;
  Host host;
  Options options;
  Log log{false};
  std::array<Tensor, 7> sources{};
  Tensor scan{}, other{};
  Device* device = nullptr;
  OldBackend old_layout{};
  NewBackend new_layout{};
};

TEST_P(CudaHook, TheDeviceSupportsWhatItDidAndWhatHissTakes) {
  EXPECT_TRUE(device->supports_op(device, &other));
  EXPECT_TRUE(device->supports_op(device, &scan));
  sources[0].type = 1;
  EXPECT_FALSE(device->supports_op(device, &scan));
}

TEST_P(CudaHook, AGraphWithoutNodesOfHisssGoesToGgmlWhole) {
  ASSERT_EQ(device->init_backend(device, nullptr), made);
  EXPECT_EQ(compute({&other, &other}), kStatusSuccess);
  EXPECT_EQ(trace, "ggml ");
}

TEST_P(CudaHook, ANodeOutsideTheDevicesMemoryFailsTheGraphBehindTheNodesBefore) {
  ASSERT_EQ(device->init_backend(device, nullptr), made);
  scan.data = &scan;
  testing::internal::CaptureStderr();
  EXPECT_EQ(compute({&other, &other, &scan, &other}), kStatusFailed);
  EXPECT_EQ(trace, "view 0..2 ggml ");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "hiss: a node of CUDA's whose tensor is not on a device\n");
}

TEST_P(CudaHook, FreeingABackendIsGgmls) {
  ASSERT_EQ(device->init_backend(device, nullptr), made);
  functions_of(made).free(made);
  EXPECT_EQ(trace, "free ");
}

TEST_P(CudaHook, ABackendOfAnotherLayoutIsLeftAlone) {
  end_of(made, GetParam()).device = nullptr;
  testing::internal::CaptureStderr();
  ASSERT_EQ(device->init_backend(device, nullptr), made);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("laid out otherwise"), std::string::npos);
  EXPECT_EQ(functions().graph_compute, graph_compute);
  EXPECT_EQ(functions_of(made).free, free_backend);
  EXPECT_FALSE(device->supports_op(device, &scan));
}

INSTANTIATE_TEST_SUITE_P(Layouts, CudaHook, testing::Bool(),
                         [](const auto& layout) { return layout.param ? "New" : "Old"; });

}  // namespace
}  // namespace hiss::ggml
