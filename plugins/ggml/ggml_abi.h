// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// What of ggml's binary interface a backend needs, declared anew: ggml installs no header for
// plugins, and an include of one version would tie the plugin to it. Layouts are those of ggml from
// December 2025 on; host.cc checks the ones that can be checked before anything is used.
namespace hiss::ggml {

inline constexpr int kTypeF32 = 0, kTypeI32 = 26;  // enum ggml_type
inline constexpr int kDeviceTypeAccel = 3;         // enum ggml_backend_dev_type, since API 2
inline constexpr int kStatusSuccess = 0, kStatusFailed = -1;  // enum ggml_status

struct BufferType;
struct Buffer;
struct Device;
struct Backend;
struct Graph;

// ggml_tensor. ne[0] is the fastest axis; nb are strides in bytes.
struct Tensor {
  int type;
  Buffer* buffer;
  int64_t ne[4];
  size_t nb[4];
  int op;
  int32_t op_params[16];
  int32_t flags;
  Tensor* src[10];
  Tensor* view_src;
  size_t view_offs;
  void* data;
  char name[64];
  void* extra;
  char padding[8];
};

// ggml_backend_buffer_type. API 3 has two more functions before `device`, so the last two members
// are reached through Host::buffer_type_tail.
struct BufferTypeFunctions {
  const char* (*get_name)(BufferType*);
  Buffer* (*alloc_buffer)(BufferType*, size_t size);
  size_t (*get_alignment)(BufferType*);
  size_t (*get_max_size)(BufferType*);
  size_t (*get_alloc_size)(BufferType*, const Tensor*);
  bool (*is_host)(BufferType*);
};
struct BufferType {
  BufferTypeFunctions functions;
  void* tail[4];  // API 2: device, context; API 3: two functions, device, context
};

// ggml_backend_reg: what ggml_backend_init() returns.
struct Registry {
  int api_version;
  const char* (*get_name)(Registry*);
  size_t (*get_device_count)(Registry*);
  Device* (*get_device)(Registry*, size_t index);
  void* (*get_proc_address)(Registry*, const char* name);
  void* context;
};

// ggml_backend_dev_props; zeros mean "cannot".
struct DeviceProperties {
  const char* name;
  const char* description;
  size_t memory_free, memory_total;
  int type;
};

// ggml_backend_device; its slots have not changed since October 2024.
struct Device {
  const char* (*get_name)(Device*);
  const char* (*get_description)(Device*);
  void (*get_memory)(Device*, size_t* free, size_t* total);
  int (*get_type)(Device*);
  void (*get_props)(Device*, DeviceProperties*);
  Backend* (*init_backend)(Device*, const char* params);
  BufferType* (*get_buffer_type)(Device*);
  BufferType* (*get_host_buffer_type)(Device*);
  Buffer* (*buffer_from_host_ptr)(Device*, void* memory, size_t size, size_t max_tensor_size);
  bool (*supports_op)(Device*, const Tensor*);
  bool (*supports_buft)(Device*, BufferType*);
  bool (*offload_op)(Device*, const Tensor*);
  void* (*event_new)(Device*);
  void (*event_free)(Device*, void*);
  void (*event_synchronize)(Device*, void*);
  Registry* registry;
  void* context;
};

// What ggml's CPU backend hands to each thread of its team.
struct ComputeParams {
  int ith, nth;
  size_t wsize;
  void* wdata;
  void* threadpool;
  bool use_ref;  // since February 2026: Host::has_use_ref
};

// ggml::cpu::tensor_traits and ggml::cpu::extra_buffer_type: called through their virtual tables
// only, whose order is all that matters.
class TensorTraits {
 public:
  virtual ~TensorTraits() = default;
  virtual bool work_size(int threads, const Tensor* node, size_t& bytes) = 0;
  virtual bool compute_forward(ComputeParams* params, Tensor* node) = 0;
};
class ExtraBufferType {
 public:
  virtual ~ExtraBufferType() = default;
  virtual bool supports_op(Device* device, const Tensor* node) = 0;
  virtual TensorTraits* get_tensor_traits(const Tensor* node) = 0;
};

}  // namespace hiss::ggml
