// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "ggml_program.h"

#include <dlfcn.h>

namespace hiss::ggml {
namespace {

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}
  template <class Function>
  void take(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace

Result<GgmlProgram> load_ggml(const std::string& folder) {
  const std::string path = folder + "/libggml.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return NotFound(path + ": " + (why == nullptr ? "cannot be loaded" : why));
  }
  GgmlProgram g;
  Symbols symbols(library);
  symbols.take(g.init, "ggml_init"), symbols.take(g.free, "ggml_free");
  symbols.take(g.tensor_overhead, "ggml_tensor_overhead");
  symbols.take(g.graph_overhead, "ggml_graph_overhead");
  symbols.take(g.new_tensor_4d, "ggml_new_tensor_4d"), symbols.take(g.view_4d, "ggml_view_4d");
  symbols.take(g.ssm_conv, "ggml_ssm_conv"), symbols.take(g.ssm_scan, "ggml_ssm_scan");
  symbols.take(g.new_graph, "ggml_new_graph");
  symbols.take(g.build_forward_expand, "ggml_build_forward_expand");
  symbols.take(g.init_by_name, "ggml_backend_init_by_name");
  symbols.take(g.backend_free, "ggml_backend_free");
  symbols.take(g.alloc_ctx_tensors, "ggml_backend_alloc_ctx_tensors");
  symbols.take(g.buffer_free, "ggml_backend_buffer_free");
  symbols.take(g.graph_compute, "ggml_backend_graph_compute");
  symbols.take(g.graph_compute_async, "ggml_backend_graph_compute_async");
  symbols.take(g.synchronize, "ggml_backend_synchronize");
  symbols.take(g.supports_op, "ggml_backend_supports_op");
  symbols.take(g.tensor_set, "ggml_backend_tensor_set");
  symbols.take(g.tensor_get, "ggml_backend_tensor_get");
  symbols.take(g.load_backend, "ggml_backend_load");
  symbols.take(g.load_all, "ggml_backend_load_all");
  symbols.take(g.registry_by_name, "ggml_backend_reg_by_name");
  symbols.take(g.get_proc_address, "ggml_backend_reg_get_proc_address");
  if (!symbols.missing().empty()) return NotFound(path + ": has no " + symbols.missing());
  Symbols optional(library);
  optional.take(g.version, "ggml_version");

  g.load_all();
  Registry* cpu = g.registry_by_name("CPU");
  if (cpu == nullptr) return NotFound(folder + ": ggml found no CPU backend");
  g.set_n_threads = reinterpret_cast<void (*)(Backend*, int)>(
      g.get_proc_address(cpu, "ggml_backend_set_n_threads"));
  if (g.set_n_threads == nullptr) return NotFound("ggml_backend_set_n_threads of the CPU backend");
  return g;
}

}  // namespace hiss::ggml
