// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "host.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

namespace hiss::ggml {
namespace {

// The library that holds an address, and through it those it depends on. The executable is asked
// for as such: it cannot be opened by its name.
void* library_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0) return nullptr;
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr ? library : dlopen(nullptr, RTLD_LAZY);
}

template <class Function>
Function* find(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

// Makes an SSM_CONV node in a context without data and looks whether its fields are where Tensor
// has them.
bool tensors_are_laid_out_as_declared(void* library, int op_ssm_conv) {
  struct InitParams {
    size_t mem_size;
    void* mem_buffer;
    bool no_alloc;
  };
  const auto init = find<void*(InitParams)>(library, "ggml_init");
  const auto release = find<void(void*)>(library, "ggml_free");
  const auto new_tensor =
      find<Tensor*(void*, int, int64_t, int64_t, int64_t)>(library, "ggml_new_tensor_3d");
  const auto set_name = find<Tensor*(Tensor*, const char*)>(library, "ggml_set_name");
  const auto conv = find<Tensor*(void*, Tensor*, Tensor*)>(library, "ggml_ssm_conv");
  if (!init || !release || !new_tensor || !set_name || !conv) return false;
  void* context = init({1 << 16, nullptr, true});
  if (context == nullptr) return false;
  Tensor* x = new_tensor(context, kTypeF32, 7 + 3, 5, 2);
  Tensor* weight = new_tensor(context, kTypeF32, 4, 5, 1);
  Tensor* y = conv(context, x, weight);
  set_name(y, "hiss");
  const int64_t ne[4] = {5, 7, 2, 1};
  const size_t nb[4] = {4, 20, 140, 280};
  const bool same = y->type == kTypeF32 && std::equal(ne, ne + 4, y->ne) &&
                    std::equal(nb, nb + 4, y->nb) && y->op == op_ssm_conv && y->src[0] == x &&
                    y->src[1] == weight && y->src[2] == nullptr && y->view_src == nullptr &&
                    y->data == nullptr && std::strcmp(y->name, "hiss") == 0;
  release(context);
  return same;
}

// Where a buffer type keeps its device; -1: not where interfaces 2 and 3 have it. ggml itself is
// asked.
int find_tail(void* library, Registry* registry, int api_version) {
  const auto device_of = find<Device*(BufferType*)>(library, "ggml_backend_buft_get_device");
  if (device_of == nullptr || registry->get_device_count(registry) == 0) return -1;
  const int tail = api_version >= 3 ? 2 : 0;
  BufferType type{};
  type.tail[tail] = registry->get_device(registry, 0);
  return device_of(&type) == type.tail[tail] ? tail : -1;
}

}  // namespace

Result<Host> find_host(const void* caller) {
  void* library = library_of(caller);
  const auto op_name = find<const char*(int)>(library, "ggml_op_name");
  const auto registry_of = find<Registry*(const char*)>(library, "ggml_backend_reg_by_name");
  if (op_name == nullptr || registry_of == nullptr)
    return NotFound("the program that loads this library shows no ggml symbols");
  Host host;
  host.cpu_registry = registry_of("CPU");
  host.cuda_registry = registry_of("CUDA");
  if (host.cpu_registry == nullptr) return NotFound("ggml has no CPU backend registered");
  host.api_version = host.cpu_registry->api_version;
  if (host.api_version < 2 || host.api_version > 3)
    return Unsupported("ggml's backend interface is version " + std::to_string(host.api_version) +
                       "; want 2 or 3");
  constexpr int kFewestOps = 80;  // every ggml with interface 2 has more
  for (int op = 0; op < kFewestOps; ++op) {
    if (std::strcmp(op_name(op), "SSM_CONV") == 0) host.op_ssm_conv = op;
    if (std::strcmp(op_name(op), "SSM_SCAN") == 0) host.op_ssm_scan = op;
    for (const char* name : {"NONE", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"})
      if (std::strcmp(op_name(op), name) == 0) host.ops_without_work.set(static_cast<size_t>(op));
  }
  if (host.op_ssm_conv < 0 || host.op_ssm_scan < 0)
    return Unsupported("ggml has no SSM_CONV and SSM_SCAN");
  if (!tensors_are_laid_out_as_declared(library, host.op_ssm_conv))
    return Unsupported("ggml_tensor is laid out otherwise than in the versions known");

  host.graph_n_nodes = find<int(Graph*)>(library, "ggml_graph_n_nodes");
  host.graph_node = find<Tensor*(Graph*, int)>(library, "ggml_graph_node");
  host.graph_view = find<GraphBytes(Graph*, int, int)>(library, "ggml_graph_view");
  host.buft_is_host = find<bool(BufferType*)>(library, "ggml_backend_buft_is_host");
  host.async_copies_2d = find<void()>(library, "ggml_backend_tensor_set_2d_async") != nullptr;
  if (host.graph_n_nodes == nullptr || host.graph_node == nullptr || host.buft_is_host == nullptr)
    return Unsupported("ggml hides the functions that walk a graph");

  void* cpu = library_of(reinterpret_cast<const void*>(host.cpu_registry->get_name));
  host.has_use_ref = find<void()>(cpu, "ggml_backend_cpu_set_use_ref") != nullptr;
  host.buffer_type_tail = find_tail(library, host.cpu_registry, host.api_version);
  const auto extra =
      find<std::vector<BufferType*>&()>(library, "_Z39ggml_backend_cpu_get_extra_buffer_typesv");
  host.barrier = find<void(void*)>(cpu, "ggml_barrier");
  if (extra != nullptr && host.barrier != nullptr && host.buffer_type_tail >= 0)
    host.extra_buffer_types = &extra();
  return host;
}

}  // namespace hiss::ggml
