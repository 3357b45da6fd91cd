// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_hook.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "backend_abi.h"
#include "cuda_choice.h"
#include "cuda_lane.h"
#include "cuda_node.h"
#include "cuda_route.h"
#include "graph_pieces.h"

namespace hiss::ggml {
namespace {

struct HookedDevice {
  Host host;
  Options options;
  Log* log;
  const Machine* machine;
  bool (*supports_op)(Device*, const Tensor*);  // ggml's own, as the next
  Backend* (*init_backend)(Device*, const char*);
};
// A backend of ggml's, with what hiss adds to it.
struct HookedBackend {
  const HookedDevice* hooked;
  Device* device;
  void (*free)(Backend*);
  BackendFunctionsEnd ggml;
  std::unique_ptr<CudaLane> lane;  // made for the first node
};

// Elements of both stay where they are, and a backend is used by one thread at a time. Never
// destroyed: programs free backends when they end.
std::mutex mutex;
std::atomic<bool> enabled_now{true};
std::atomic<int64_t> nodes_computed{0};
auto& devices = *new std::map<Device*, HookedDevice>;
auto& backends = *new std::map<Backend*, HookedBackend>;

const HookedDevice& hooked(Device* device) {
  const std::lock_guard lock(mutex);
  return devices.at(device);
}
HookedBackend& hooked(Backend* backend) {
  const std::lock_guard lock(mutex);
  return backends.at(backend);
}

bool ours(const HookedDevice& d, Device* device, const Tensor* node) {
  const bool ssm = node->op == d.host.op_ssm_scan || node->op == d.host.op_ssm_conv;
  return ssm && enabled_now.load(std::memory_order_relaxed) &&
         takes_on_cuda(d.host, d.options, node, d.supports_op(device, node), *d.machine);
}

bool supports_op(Device* device, const Tensor* node) {
  const HookedDevice& d = hooked(device);
  return d.supports_op(device, node) || ours(d, device, node);
}

// Behind all that ggml has launched so far, and before all that it launches from now on.
Status launch_in_turn(HookedBackend& b, Backend* backend, const Tensor* node) {
  const CurrentDevice current(node->data);
  if (current.device() < 0) return Internal("a node of CUDA's whose tensor is not on a device");
  if (b.lane == nullptr) {
    HISS_ASSIGN_OR_RETURN(b.lane, CudaLane::create());
  }
  Event before{b.device, b.lane->before()}, after{b.device, b.lane->after()};
  b.ggml.event_record(backend, &before);
  HISS_RETURN_IF_ERROR(b.lane->wait_for_before());
  const HookedDevice& d = *b.hooked;
  const Status status = launch_on_cuda(d.host, d.options, node, b.lane->context(), *d.log);
  HISS_RETURN_IF_ERROR(b.lane->record_after());
  b.ggml.event_wait(backend, &after);
  return status;
}

int graph_compute(Backend* backend, Graph* graph) {
  HookedBackend& b = hooked(backend);
  const HookedDevice& d = *b.hooked;
  const int nodes = d.host.graph_n_nodes(graph);
  return compute_in_pieces(
      nodes, [&](int i) { return ours(d, b.device, d.host.graph_node(graph, i)); },
      [&](int first, int last) {
        if (first == 0 && last == nodes) return b.ggml.graph_compute(backend, graph);
        GraphBytes piece = d.host.graph_view(graph, first, last);
        return b.ggml.graph_compute(backend, reinterpret_cast<Graph*>(&piece));
      },
      [&](int i) {
        const Status status = launch_in_turn(b, backend, d.host.graph_node(graph, i));
        if (!status.ok()) d.log->say(status.message());
        if (status.ok()) nodes_computed.fetch_add(1, std::memory_order_relaxed);
        return status.ok() ? kStatusSuccess : kStatusFailed;
      });
}

void free_backend(Backend* backend) {
  std::map<Backend*, HookedBackend>::node_type b;
  {
    const std::lock_guard lock(mutex);
    b = backends.extract(backend);
  }
  b.mapped().lane = nullptr;
  b.mapped().free(backend);
}

Backend* init_backend(Device* device, const char* params) {
  const HookedDevice& d = hooked(device);
  Backend* backend = d.init_backend(device, params);
  if (backend == nullptr) return nullptr;
  BackendEnd& end = end_of(backend, d.host.async_copies_2d);
  if (end.device != device || end.functions.event_record == nullptr ||
      end.functions.event_wait == nullptr || end.functions.graph_compute == nullptr) {
    d.log->say("ggml's CUDA backend is laid out otherwise than in the versions known; left alone");
    device->supports_op = d.supports_op;
    return backend;
  }
  const std::lock_guard lock(mutex);
  backends[backend] = {&d, device, functions_of(backend).free, end.functions, nullptr};
  end.functions.graph_compute = graph_compute;
  functions_of(backend).free = free_backend;
  return backend;
}

}  // namespace

bool set_cuda_hook_enabled(bool enabled) {
  enabled_now = enabled;
  const std::lock_guard lock(mutex);
  return !devices.empty();
}

int64_t nodes_computed_in_cuda_hook() { return nodes_computed; }

void hook_cuda_device(const Host& host, const Options& options, Log& log, Device* device,
                      const Machine& machine) {
  const std::lock_guard lock(mutex);
  devices[device] = {host, options, &log, &machine, device->supports_op, device->init_backend};
  device->supports_op = supports_op;
  device->init_backend = init_backend;
}

}  // namespace hiss::ggml
