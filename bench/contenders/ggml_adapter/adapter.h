// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// What ggml's CPU backend offers for state-space models, behind plain structures: the adapter is a
// shared library of its own (bench/contenders/get.sh builds it), so that the benchmark neither
// links ggml nor needs it. Tensors are dense F32, the last index varies fastest.
namespace hiss::bench {

// SSM_SCAN. Softplus is inside; D, z and the bias of dt are not (llama.cpp has nodes for them).
struct GgmlScan {
  int64_t batch, seqlen, nheads, headdim, ngroups, dstate;
  bool decay_per_state = false;  // Mamba-1: headdim 1, A (nheads, dstate). Else A (nheads)
  const float* x = nullptr;      // (batch, seqlen, nheads, headdim)
  const float* dt = nullptr;     // (batch, seqlen, nheads)
  const float* A = nullptr;
  const float* B = nullptr;      // (batch, seqlen, ngroups, dstate)
  const float* C = nullptr;      // the same
  const float* state = nullptr;  // (batch, nheads, headdim, dstate), where it starts
};

// SSM_CONV: no bias, no activation.
struct GgmlConv {
  int64_t batch, seqlen, dim, width;
  const float *x, *weight;  // (batch, dim, width-1 + seqlen), time fastest; (dim, width)
};

struct GgmlContender {
  const char* version;
  // Puts thread i of its pool on processor processors[i], the calling thread being the first.
  void (*pin)(const int* processors, int threads);
  // A graph of one node with copies of the tensors. nullptr: out of memory.
  void* (*scan)(const GgmlScan& scan, int threads);
  void* (*conv)(const GgmlConv& conv, int threads);
  // From now on compute() works out the node that many times, at most 2048.
  void (*repeat)(void* graph, int times);
  bool (*compute)(void* graph);
  // y (batch, seqlen, nheads, headdim) and then the end state, like `state`; for a convolution
  // (batch, seqlen, dim).
  const float* (*result)(void* graph);
  void (*release)(void* graph);
};

}  // namespace hiss::bench

extern "C" const hiss::bench::GgmlContender* hiss_bench_ggml();
