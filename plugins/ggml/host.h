// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <vector>

#include "ggml_abi.h"
#include "hiss/status.h"

namespace hiss::ggml {

// Room for a ggml_cgraph: a structure of this size is returned in the caller's memory, like the
// smaller one that ggml returns.
struct GraphBytes {
  alignas(16) std::byte bytes[1024];
};

// The ggml that loaded this library, found in the running process. The plugin has no undefined ggml
// symbols: hosts differ in library names and in whether they show their symbols.
struct Host {
  int api_version = 0;
  int op_ssm_conv = -1, op_ssm_scan = -1;  // enum ggml_op moves from version to version
  std::bitset<128> ops_without_work;       // views, and tensors that are there already
  int buffer_type_tail = 0;  // where `device` stands in BufferType::tail; `context` follows
  bool has_use_ref = false;  // ComputeParams::use_ref exists
  Registry* cpu_registry = nullptr;

  // Of libggml-cpu; nullptr where it does not show them: then there is no hook.
  std::vector<BufferType*>* extra_buffer_types = nullptr;
  void (*barrier)(void* threadpool) = nullptr;

  // Of libggml-base.
  int (*graph_n_nodes)(Graph*) = nullptr;
  Tensor* (*graph_node)(Graph*, int) = nullptr;
  bool (*buft_is_host)(BufferType*) = nullptr;
  bool async_copies_2d = false;  // ggml_backend_i has the two slots of 2-D copies

  Registry* cuda_registry = nullptr;  // nullptr: no CUDA
  // Makes a ggml_cgraph of nodes [first, last), by value and larger from version to version.
  GraphBytes (*graph_view)(Graph*, int first, int last) = nullptr;
};

// The ggml of the code at `caller`. kNotFound: no ggml there, or none with a CPU backend.
// kUnsupported: a ggml whose tensors are laid out otherwise, or without the operators.
Result<Host> find_host(const void* caller);

}  // namespace hiss::ggml
