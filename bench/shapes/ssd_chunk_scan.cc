// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "shapes.h"

namespace hiss::bench {
namespace {

struct Heads {
  int64_t nheads, headdim, dstate, ngroups;
};

SsdChunkScan::Args make(Tensors& t, int64_t seqlen, const Heads& h) {
  SsdChunkScan::Args args;
  args.x = t.normal({1, seqlen, h.nheads, h.headdim});
  args.y = t.normal({1, seqlen, h.nheads, h.headdim});
  args.dt = t.normal({1, seqlen, h.nheads}, -1.5f), args.dt_bias = t.normal({h.nheads}, -1, 0.5f);
  const TensorView A = t.normal({h.nheads});
  for (int64_t i = 0; i < h.nheads; ++i)  // Mamba-2 starts from -1 ... -16
    A.as<float>()[i] = -1 - 15 * static_cast<float>(i) / static_cast<float>(h.nheads);
  args.A = A, args.D = t.normal({h.nheads}, 1.0f, 0.1f);
  args.B = t.normal({1, seqlen, h.ngroups, h.dstate});
  args.C = t.normal({1, seqlen, h.ngroups, h.dstate});
  args.initial_states = t.normal({1, h.nheads, h.headdim, h.dstate});
  args.final_states = t.normal({1, h.nheads, h.headdim, h.dstate});
  args.dt_softplus = true;
  return args;
}

}  // namespace

template <>
std::vector<Shape<SsdChunkScan>> shapes<SsdChunkScan>(bool quick) {
  std::vector<Shape<SsdChunkScan>> all;
  const auto add = [&](const char* name, const Heads& heads) {
    all.push_back(
        {name, [heads, seqlen = quick ? 64 : 512](Tensors& t) { return make(t, seqlen, heads); }});
  };
  add("falcon_h1_0.5b", {24, 64, 128, 1});
  add("falcon_h1_1.5b", {48, 64, 256, 1});
  add("falcon_h1_7b", {24, 128, 256, 1});
  add("granite_4_h_tiny", {48, 64, 128, 1});
  add("granite_4_h_small", {128, 64, 128, 1});
  add("mamba2_2.7b", {80, 64, 128, 1});
  add("codestral_7b", {128, 64, 128, 8});
  add("nemotron_h_8b", {128, 64, 128, 8});
  add("nemotron_nano_9b_v2", {128, 80, 128, 8});
  add("h128_p80_n128", {128, 80, 128, 1});  // of ggml's own performance tests
  add("plamo_2_1b", {32, 128, 64, 1});
  add("falcon_h1_tiny_90m", {24, 32, 64, 1});
  add("nemotron_3_puzzle", {128, 64, 96, 8});
  return all;
}

// With the decay kept out of the state (docs/kernels/ssd_chunk_scan_cpu.md) an update is two
// multiply-adds, in a form that matrix products can take.
Work work_of(const SsdChunkScan::Args& a) {
  const auto elements = static_cast<double>(a.x.elements());
  const double updates = elements * static_cast<double>(a.B.shape[3]);
  return {.updates = updates,
          .multiply_adds = 2 * updates + 2 * elements,
          .matrix_multiply_adds = 2 * updates,
          .bytes = bytes_of(a.x, a.y, a.z, a.B, a.C, a.dt, a.initial_states, a.final_states)};
}

}  // namespace hiss::bench
