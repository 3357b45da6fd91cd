// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "ggml_abi.h"

// ggml_backend, the object a device's init_backend() makes. It exists in two layouts: newer ggml
// has two more functions behind the first two asynchronous ones (Host::async_copies_2d).
namespace hiss::ggml {

// ggml_backend_event.
struct Event {
  Device* device;
  void* context;  // CUDA's: a cudaEvent_t
};

struct BackendFunctions {
  const char* (*get_name)(Backend*);
  void (*free)(Backend*);
  void* set_tensor_async;
  void* get_tensor_async;
};
struct BackendFunctionsEnd {
  void* cpy_tensor_async;
  void (*synchronize)(Backend*);
  void* graph_plan_create;
  void* graph_plan_free;
  void* graph_plan_update;
  void* graph_plan_compute;
  int (*graph_compute)(Backend*, Graph*);
  void (*event_record)(Backend*, Event*);
  void (*event_wait)(Backend*, Event*);
  void* graph_optimize;
};
struct BackendEnd {
  BackendFunctionsEnd functions;
  Device* device;
  void* context;
};
struct OldBackend {
  void* guid;  // 16 bytes that tell kinds of backends apart
  BackendFunctions functions;
  BackendEnd end;
};
struct NewBackend {
  void* guid;
  BackendFunctions functions;
  void* async_copies_2d[2];
  BackendEnd end;
};

inline BackendFunctions& functions_of(Backend* backend) {  // where both layouts have them
  return reinterpret_cast<OldBackend*>(backend)->functions;
}
inline BackendEnd& end_of(Backend* backend, bool async_copies_2d) {
  return async_copies_2d ? reinterpret_cast<NewBackend*>(backend)->end
                         : reinterpret_cast<OldBackend*>(backend)->end;
}

}  // namespace hiss::ggml
