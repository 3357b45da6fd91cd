// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "adapter.h"

#include <omp.h>
#include <sched.h>

#include <cstring>
#include <memory>
#include <numeric>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

namespace hiss::bench {
namespace {

constexpr int kMostNodes = 2048;

struct Release {
  void operator()(ggml_context* context) const { ggml_free(context); }
  void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
  void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};

struct Graph {
  std::unique_ptr<ggml_context, Release> context;
  std::unique_ptr<ggml_backend, Release> backend;
  std::unique_ptr<ggml_backend_buffer, Release> memory;
  ggml_cgraph* graph = nullptr;
  ggml_tensor* node = nullptr;

  explicit Graph(int threads) : backend(ggml_backend_cpu_init()) {
    ggml_backend_cpu_set_n_threads(backend.get(), threads);
    context.reset(ggml_init(
        {.mem_size = ggml_tensor_overhead() * 16 + ggml_graph_overhead_custom(kMostNodes, false),
         .mem_buffer = nullptr,
         .no_alloc = true}));
  }
  ggml_tensor* tensor(int64_t n0, int64_t n1 = 1, int64_t n2 = 1, int64_t n3 = 1) {
    return ggml_new_tensor_4d(context.get(), GGML_TYPE_F32, n0, n1, n2, n3);
  }
  // False: no memory for the tensors.
  bool finish(ggml_tensor* result) {
    node = result;
    graph = ggml_new_graph_custom(context.get(), kMostNodes, false);
    ggml_build_forward_expand(graph, node);
    memory.reset(ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
    return memory != nullptr;
  }
};

void fill(ggml_tensor* tensor, const float* from) {
  std::memcpy(tensor->data, from, ggml_nbytes(tensor));
}

// ggml's threads are OpenMP's, which keeps them for the next region of as many.
void pin(const int* processors, int threads) {
#pragma omp parallel num_threads(threads)
  {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processors[omp_get_thread_num()], &set);
    sched_setaffinity(0, sizeof set, &set);
  }
}

void* scan(const GgmlScan& s, int threads) {
  auto g = std::make_unique<Graph>(threads);
  ggml_tensor* state = g->tensor(s.dstate, s.headdim, s.nheads, s.batch);
  ggml_tensor* x = g->tensor(s.headdim, s.nheads, s.seqlen, s.batch);
  ggml_tensor* dt = g->tensor(s.nheads, s.seqlen, s.batch);
  ggml_tensor* A = g->tensor(s.decay_per_state ? s.dstate : 1, s.nheads);
  ggml_tensor* B = g->tensor(s.dstate, s.ngroups, s.seqlen, s.batch);
  ggml_tensor* C = g->tensor(s.dstate, s.ngroups, s.seqlen, s.batch);
  ggml_tensor* rows = ggml_new_tensor_1d(g->context.get(), GGML_TYPE_I32, s.batch);
  if (!g->finish(ggml_ssm_scan(g->context.get(), state, x, dt, A, B, C, rows, 1))) return nullptr;
  fill(state, s.state), fill(x, s.x), fill(dt, s.dt), fill(A, s.A), fill(B, s.B), fill(C, s.C);
  auto* first = static_cast<int32_t*>(rows->data);
  std::iota(first, first + s.batch, 0);
  return g.release();
}

void* conv(const GgmlConv& c, int threads) {
  auto g = std::make_unique<Graph>(threads);
  ggml_tensor* x = g->tensor(c.width - 1 + c.seqlen, c.dim, c.batch);
  ggml_tensor* weight = g->tensor(c.width, c.dim);
  if (!g->finish(ggml_ssm_conv(g->context.get(), x, weight))) return nullptr;
  fill(x, c.x), fill(weight, c.weight);
  return g.release();
}

void repeat(void* graph, int times) {
  auto* g = static_cast<Graph*>(graph);
  for (int n = ggml_graph_n_nodes(g->graph); n < times && n < kMostNodes; ++n)
    ggml_graph_add_node(g->graph, g->node);
}

bool compute(void* graph) {
  auto* g = static_cast<Graph*>(graph);
  return ggml_backend_graph_compute(g->backend.get(), g->graph) == GGML_STATUS_SUCCESS;
}

const float* result(void* graph) {
  return static_cast<const float*>(static_cast<Graph*>(graph)->node->data);
}

void release(void* graph) { delete static_cast<Graph*>(graph); }

}  // namespace
}  // namespace hiss::bench

const hiss::bench::GgmlContender* hiss_bench_ggml() {
  using namespace hiss::bench;
  static const GgmlContender contender{ggml_version(), pin,     scan,   conv,
                                       repeat,         compute, result, release};
  return &contender;
}
