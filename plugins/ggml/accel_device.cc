// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "accel_device.h"

#include <utility>
#include <vector>

#include "backend_abi.h"

namespace hiss::ggml {
namespace {

struct AccelDevice {
  Host host;
  Log* log;
  std::string name;
  std::unique_ptr<AccelMemory> memory;
  Device device;
};
AccelDevice& self(Device* device) { return *static_cast<AccelDevice*>(device->context); }

const char* device_name(Device* device) { return self(device).name.c_str(); }
const char* device_description(Device* device) { return self(device).memory->description(); }
void device_memory(Device*, size_t* free, size_t* total) { *free = *total = 0; }
int device_type(Device*) { return kDeviceTypeAccel; }
void device_properties(Device* device, DeviceProperties* properties) {
  *properties = {device_name(device), device_description(device), 0, 0, kDeviceTypeAccel};
}
BufferType* buffer_type(Device* device) { return self(device).memory->buffer_type(); }
bool supports_op(Device* device, const Tensor* node) {
  const AccelDevice& d = self(device);
  const auto op = static_cast<size_t>(node->op);
  return (op < d.host.ops_without_work.size() && d.host.ops_without_work[op]) ||
         d.memory->takes(node);
}
bool supports_buft(Device* device, BufferType* type) { return self(device).memory->holds(type); }

// A backend of ggml's scheduler.
struct State {
  const AccelDevice* device;
  std::unique_ptr<AccelRunner> runner;
  NewBackend backend;  // with room for the old layout
};
template <bool kAsyncCopies2d>
State& state_of(Backend* backend) {
  return *static_cast<State*>(end_of(backend, kAsyncCopies2d).context);
}

template <bool kAsyncCopies2d>
void free_backend(Backend* backend) {
  delete &state_of<kAsyncCopies2d>(backend);
}

template <bool kAsyncCopies2d>
const char* backend_name(Backend* backend) {
  return state_of<kAsyncCopies2d>(backend).device->name.c_str();
}

template <bool kAsyncCopies2d>
int graph_compute(Backend* backend, Graph* graph) {
  State& state = state_of<kAsyncCopies2d>(backend);
  const AccelDevice& d = *state.device;
  std::vector<const Tensor*> nodes;
  for (int i = 0; i < d.host.graph_n_nodes(graph); ++i) {
    const Tensor* node = d.host.graph_node(graph, i);
    if (d.memory->takes(node)) nodes.push_back(node);  // the others are views, nothing to compute
  }
  const Status status = state.runner->run(nodes);
  if (!status.ok()) d.log->say(status.message());
  return status.ok() ? kStatusSuccess : kStatusFailed;
}

template <bool kAsyncCopies2d>
void synchronize(Backend* backend) {
  State& state = state_of<kAsyncCopies2d>(backend);
  const Status status = state.runner->wait();
  if (!status.ok()) state.device->log->say(status.message());
}

char guid[16] = {'h', 'i', 's', 's', '-', 's', 's', 'm', '-', 'a', 'c', 'c', 'e', 'l', '-', '1'};

template <bool kAsyncCopies2d>
Backend* fill(State* state, Device* device) {
  auto* backend = reinterpret_cast<Backend*>(&state->backend);
  state->backend.guid = guid;
  functions_of(backend).get_name = backend_name<kAsyncCopies2d>;
  functions_of(backend).free = free_backend<kAsyncCopies2d>;
  BackendEnd& end = end_of(backend, kAsyncCopies2d);
  end.functions.graph_compute = graph_compute<kAsyncCopies2d>;
  end.functions.synchronize = synchronize<kAsyncCopies2d>;
  end.device = device, end.context = state;
  return backend;
}

Backend* init_backend(Device* device, const char*) {
  const AccelDevice& d = self(device);
  auto runner = d.memory->make_runner();
  if (!runner) return d.log->say(runner.error().message()), nullptr;
  auto* state = new State{&d, *std::move(runner), {}};
  return d.host.async_copies_2d ? fill<true>(state, device) : fill<false>(state, device);
}

}  // namespace

Device* make_accel_device(const Host& host, Log& log, Registry* registry, std::string name,
                          std::unique_ptr<AccelMemory> memory) {
  static auto& devices = *new std::vector<std::unique_ptr<AccelDevice>>;
  devices.emplace_back(new AccelDevice{host, &log, std::move(name), std::move(memory), Device{}});
  Device& device = devices.back()->device;
  device.get_name = device_name, device.get_description = device_description;
  device.get_memory = device_memory, device.get_type = device_type;
  device.get_props = device_properties, device.init_backend = init_backend;
  device.get_buffer_type = buffer_type;
  device.supports_op = supports_op, device.supports_buft = supports_buft;
  device.registry = registry, device.context = devices.back().get();
  return &device;
}

}  // namespace hiss::ggml
