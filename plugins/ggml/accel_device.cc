// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "accel_device.h"

#include <memory>

#include "hiss/context.h"
#include "node.h"

namespace hiss::ggml {
namespace {

// ggml_backend: 16 bytes that tell kinds of backends apart, functions, device, context. Newer ggml
// has two more functions behind the first two asynchronous ones.
struct BackendFunctions {
  const char* (*get_name)(Backend*);
  void (*free)(Backend*);
  void* set_tensor_async;
  void* get_tensor_async;
};
struct BackendFunctionsEnd {
  void* cpy_tensor_async;
  void* synchronize;
  void* graph_plan_create;
  void* graph_plan_free;
  void* graph_plan_update;
  void* graph_plan_compute;
  int (*graph_compute)(Backend*, Graph*);
  void* event_record;
  void* event_wait;
  void* graph_optimize;
};
struct BackendEnd {
  BackendFunctionsEnd functions;
  Device* device;
  void* context;
};
struct OldBackend {
  void* guid;
  BackendFunctions functions;
  BackendEnd end;
};
struct NewBackend {
  void* guid;
  BackendFunctions functions;
  void* async_copies_2d[2];
  BackendEnd end;
};

struct AccelDevice {
  Host host;
  Options options;
  Log* log;
};
AccelDevice& self(Device* device) { return *static_cast<AccelDevice*>(device->context); }

const char* device_name(Device*) { return "HISS"; }
const char* device_description(Device*) { return "hiss state-space kernels on the CPU"; }
void device_memory(Device*, size_t* free, size_t* total) { *free = *total = 0; }
int device_type(Device*) { return kDeviceTypeAccel; }
void device_properties(Device* device, DeviceProperties* properties) {
  *properties = {device_name(device), device_description(device), 0, 0, kDeviceTypeAccel};
}
BufferType* cpu_buffer_type(Device* device) {
  Registry* cpu = self(device).host.cpu_registry;
  Device* first = cpu->get_device(cpu, 0);
  return first->get_buffer_type(first);
}
bool supports_op(Device* device, const Tensor* node) {
  const AccelDevice& d = self(device);
  return takes(d.host, d.options, node);
}
bool supports_buft(Device* device, BufferType* type) {
  return self(device).host.buft_is_host(type);
}

// A backend of ggml's scheduler: threads and workspace of its own.
struct State {
  AccelDevice device;
  Context context;
  std::unique_ptr<OldBackend> old_backend;
  std::unique_ptr<NewBackend> new_backend;
};
State& state_of(Backend* backend, bool async_copies_2d) {
  return *static_cast<State*>(async_copies_2d
                                  ? reinterpret_cast<NewBackend*>(backend)->end.context
                                  : reinterpret_cast<OldBackend*>(backend)->end.context);
}

template <bool kAsyncCopies2d>
void free_backend(Backend* backend) {
  delete &state_of(backend, kAsyncCopies2d);
}

template <bool kAsyncCopies2d>
int graph_compute(Backend* backend, Graph* graph) {
  State& state = state_of(backend, kAsyncCopies2d);
  const AccelDevice& d = state.device;
  for (int i = 0; i < d.host.graph_n_nodes(graph); ++i) {
    const Tensor* node = d.host.graph_node(graph, i);
    if (!takes(d.host, d.options, node)) continue;  // views, which compute nothing
    if (d.log->problems()) d.log->once(describe_choice(d.host, d.options, node));
    const auto workspace = state.context.scratch(workspace_bytes(d.host, d.options, node));
    if (!workspace) return d.log->say(workspace.error().message()), kStatusFailed;
    const Status status = compute(d.host, d.options, node,
                                  {.workspace = *workspace, .executor = &state.context.executor()});
    if (!status.ok()) return d.log->say(status.message()), kStatusFailed;
  }
  return kStatusSuccess;
}

const char* backend_name(Backend*) { return "HISS"; }
char guid[16] = {'h', 'i', 's', 's', '-', 's', 's', 'm', '-', 'a', 'c', 'c', 'e', 'l', '-', '1'};

template <bool kAsyncCopies2d, class Layout>
Backend* fill(std::unique_ptr<Layout>& backend, State* state, Device* device) {
  backend = std::make_unique<Layout>();
  backend->guid = guid;
  backend->functions.get_name = backend_name;
  backend->functions.free = free_backend<kAsyncCopies2d>;
  backend->end.functions.graph_compute = graph_compute<kAsyncCopies2d>;
  backend->end.device = device, backend->end.context = state;
  return reinterpret_cast<Backend*>(backend.get());
}

Backend* init_backend(Device* device, const char*) {
  auto context = Context::create();
  if (!context) return self(device).log->say(context.error().message()), nullptr;
  auto* state = new State{self(device), std::move(*context), nullptr, nullptr};
  return state->device.host.async_copies_2d ? fill<true>(state->new_backend, state, device)
                                            : fill<false>(state->old_backend, state, device);
}

}  // namespace

Device* make_accel_device(const Host& host, const Options& options, Log& log, Registry* registry) {
  static AccelDevice accel{host, options, &log};
  static Device device{};
  device.get_name = device_name, device.get_description = device_description;
  device.get_memory = device_memory, device.get_type = device_type;
  device.get_props = device_properties, device.init_backend = init_backend;
  device.get_buffer_type = cpu_buffer_type;
  device.supports_op = supports_op, device.supports_buft = supports_buft;
  device.registry = registry, device.context = &accel;
  return &device;
}

}  // namespace hiss::ggml
