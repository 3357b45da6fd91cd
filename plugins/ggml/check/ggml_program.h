// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../ggml_abi.h"
#include "hiss/status.h"

namespace hiss::ggml {

struct Context_;  // ggml_context

// The functions of a llama.cpp's ggml that a comparison calls, taken from its shared libraries at
// run time, whatever their version.
struct GgmlProgram {
  struct InitParams {
    size_t mem_size;
    void* mem_buffer;
    bool no_alloc;
  };
  const char* (*version)() = nullptr;  // nullptr before ggml counted versions
  Context_* (*init)(InitParams);
  void (*free)(Context_*);
  size_t (*tensor_overhead)();
  size_t (*graph_overhead)();
  Tensor* (*new_tensor_4d)(Context_*, int type, int64_t, int64_t, int64_t, int64_t);
  Tensor* (*view_4d)(Context_*, Tensor*, int64_t, int64_t, int64_t, int64_t, size_t nb1, size_t nb2,
                     size_t nb3, size_t offset);
  Tensor* (*ssm_conv)(Context_*, Tensor* sx, Tensor* weight);
  // Versions without rollback take no K and do not see it.
  Tensor* (*ssm_scan)(Context_*, Tensor* s, Tensor* x, Tensor* dt, Tensor* A, Tensor* B, Tensor* C,
                      Tensor* ids, int64_t K);
  Graph* (*new_graph)(Context_*);
  void (*build_forward_expand)(Graph*, Tensor*);
  Backend* (*init_by_name)(const char* device, const char* params);
  void (*backend_free)(Backend*);
  Buffer* (*alloc_ctx_tensors)(Context_*, Backend*);
  void (*buffer_free)(Buffer*);
  int (*graph_compute)(Backend*, Graph*);
  int (*graph_compute_async)(Backend*, Graph*);
  void (*synchronize)(Backend*);
  bool (*supports_op)(Backend*, const Tensor*);
  void (*tensor_set)(Tensor*, const void*, size_t offset, size_t size);
  void (*tensor_get)(const Tensor*, void*, size_t offset, size_t size);
  Registry* (*load_backend)(const char* path);
  void (*load_all)();
  Registry* (*registry_by_name)(const char*);
  void* (*get_proc_address)(Registry*, const char*);
  void (*set_n_threads)(Backend*, int);  // of the CPU backend
};

// `folder` holds libggml.so and its companions (a build's bin, an installation's lib); backends are
// registered and the CPU is among them. kNotFound names the library or the function missing.
Result<GgmlProgram> load_ggml(const std::string& folder);

}  // namespace hiss::ggml
