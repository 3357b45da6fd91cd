// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// What ggml sees of an accelerator device, in a memory that is invented.

#include "ggml/accel_device.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ggml/backend_abi.h"

namespace hiss::ggml {
namespace {

constexpr int kView = 1, kTaken = 2, kOther = 3;

struct Trace {
  std::vector<const Tensor*> nodes;
  int waits = 0, runners = 0;
  Status status;
};

class InventedRunner final : public AccelRunner {
 public:
  explicit InventedRunner(Trace& trace) : trace_(trace) { ++trace_.runners; }
  ~InventedRunner() override { --trace_.runners; }
  Status run(std::span<const Tensor* const> nodes) override {
    trace_.nodes.assign(nodes.begin(), nodes.end());
    return trace_.status;
  }
  Status wait() override { return ++trace_.waits, Status(); }

 private:
  Trace& trace_;
};

BufferType buffers, other_buffers;

class InventedMemory final : public AccelMemory {
 public:
  explicit InventedMemory(Trace& trace) : trace_(trace) {}
  const char* description() const override { return "an invented memory"; }
  BufferType* buffer_type() const override { return &buffers; }
  bool holds(BufferType* type) const override { return type == &buffers; }
  bool takes(const Tensor* node) const override { return node->op == kTaken; }
  Result<std::unique_ptr<AccelRunner>> make_runner() const override {
    if (!trace_.status.ok()) return trace_.status;
    return std::unique_ptr<AccelRunner>(std::make_unique<InventedRunner>(trace_));
  }

 private:
  Trace& trace_;
};

struct InventedGraph {
  std::vector<Tensor*> nodes;
};
InventedGraph& graph_of(Graph* graph) { return *reinterpret_cast<InventedGraph*>(graph); }
int graph_n_nodes(Graph* graph) { return static_cast<int>(graph_of(graph).nodes.size()); }
Tensor* graph_node(Graph* graph, int i) { return graph_of(graph).nodes[static_cast<size_t>(i)]; }

class AccelDeviceTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Host host;
    host.ops_without_work.set(kView);
    host.graph_n_nodes = graph_n_nodes, host.graph_node = graph_node;
    host.async_copies_2d = GetParam();
    // Devices stay until the process ends, and so does what they know of.
    trace = new Trace;
    device =
        make_accel_device(host, log, &registry, "HISS-X", std::make_unique<InventedMemory>(*trace));
  }
  static Tensor node(int op) {
    Tensor t{};
    t.op = op;
    return t;
  }
  static Log log;
  static Registry registry;
  Trace* trace = nullptr;
  Device* device = nullptr;
};
Log AccelDeviceTest::log{false};
Registry AccelDeviceTest::registry{};

TEST_P(AccelDeviceTest, IsWhatItsMemoryIs) {
  EXPECT_STREQ(device->get_name(device), "HISS-X");
  EXPECT_STREQ(device->get_description(device), "an invented memory");
  EXPECT_EQ(device->get_type(device), kDeviceTypeAccel);
  EXPECT_EQ(device->get_buffer_type(device), &buffers);
  EXPECT_TRUE(device->supports_buft(device, &buffers));
  EXPECT_FALSE(device->supports_buft(device, &other_buffers));
  EXPECT_EQ(device->registry, &registry);
}

TEST_P(AccelDeviceTest, SupportsWhatItTakesAndWhatNeedsNoWork) {
  for (const auto& [op, want] :
       {std::pair{kTaken, true}, {kView, true}, {kOther, false}, {500, false}}) {
    const Tensor t = node(op);
    EXPECT_EQ(device->supports_op(device, &t), want) << op;
  }
}

TEST_P(AccelDeviceTest, ComputesTheNodesItTakesInOrder) {
  Backend* backend = device->init_backend(device, nullptr);
  ASSERT_NE(backend, nullptr);
  BackendEnd& end = end_of(backend, GetParam());
  EXPECT_EQ(end.device, device);
  Tensor a = node(kTaken), view = node(kView), b = node(kTaken);
  InventedGraph graph{{&a, &view, &b}};
  EXPECT_EQ(end.functions.graph_compute(backend, reinterpret_cast<Graph*>(&graph)), kStatusSuccess);
  EXPECT_EQ(trace->nodes, (std::vector<const Tensor*>{&a, &b}));
  functions_of(backend).free(backend);
  EXPECT_EQ(trace->runners, 0);
}

TEST_P(AccelDeviceTest, SynchronizingWaitsForTheMemory) {
  Backend* backend = device->init_backend(device, nullptr);
  ASSERT_NE(backend, nullptr);
  end_of(backend, GetParam()).functions.synchronize(backend);
  EXPECT_EQ(trace->waits, 1);
  functions_of(backend).free(backend);
}

TEST_P(AccelDeviceTest, AFailureIsSaidAndFailsTheGraph) {
  Backend* backend = device->init_backend(device, nullptr);
  ASSERT_NE(backend, nullptr);
  trace->status = Internal("it broke");
  InventedGraph graph{};
  testing::internal::CaptureStderr();
  EXPECT_EQ(end_of(backend, GetParam())
                .functions.graph_compute(backend, reinterpret_cast<Graph*>(&graph)),
            kStatusFailed);
  EXPECT_EQ(device->init_backend(device, nullptr), nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hiss: it broke\nhiss: it broke\n");
  functions_of(backend).free(backend);
}

INSTANTIATE_TEST_SUITE_P(Layouts, AccelDeviceTest, testing::Bool(),
                         [](const auto& layout) { return layout.param ? "New" : "Old"; });

}  // namespace
}  // namespace hiss::ggml
