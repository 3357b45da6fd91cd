// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "shapes.h"

namespace hiss::bench {
namespace {

// One token of one stream. tied: Mamba-2, where A, dt and dt_bias belong to a head.
SelectiveStateUpdate::Args make(Tensors& t, int64_t nheads, int64_t headdim, int64_t dstate,
                                int64_t ngroups, bool tied) {
  SelectiveStateUpdate::Args args;
  args.x = t.normal({1, 1, nheads, headdim}), args.y = t.normal({1, 1, nheads, headdim});
  args.B = t.normal({1, 1, ngroups, dstate}), args.C = t.normal({1, 1, ngroups, dstate});
  args.state = t.normal({1, nheads, headdim, dstate});
  args.dt_softplus = true;
  const int64_t rows = tied ? 1 : headdim;
  TensorView A = t.normal({nheads, rows, tied ? 1 : dstate}, 0.0f, 0.5f);
  for (int64_t i = 0; i < A.elements(); ++i) A.as<float>()[i] = -std::exp(1.0f + A.as<float>()[i]);
  TensorView dt = t.normal({1, 1, nheads, rows}, -1.5f);
  TensorView dt_bias = t.normal({nheads, rows}, -1.0f, 0.5f), D = t.normal({nheads, rows}, 1, 0.1f);
  if (tied) {
    A = {A.data, DType::kF32, {nheads, headdim, dstate}, {1, 0, 0}};
    dt = {dt.data, DType::kF32, {1, 1, nheads, headdim}, {nheads, nheads, 1, 0}};
    dt_bias = {dt_bias.data, DType::kF32, {nheads, headdim}, {1, 0}};
    D = {D.data, DType::kF32, {nheads, headdim}, {1, 0}};
  }
  args.A = A, args.dt = dt, args.dt_bias = dt_bias, args.D = D;
  return args;
}

}  // namespace

template <>
std::vector<Shape<SelectiveStateUpdate>> shapes<SelectiveStateUpdate>(bool) {
  std::vector<Shape<SelectiveStateUpdate>> all;
  const auto mamba1 = [&](const char* name, int64_t dim) {
    all.push_back({name, [=](Tensors& t) { return make(t, 1, dim, 16, 1, false); }});
  };
  const auto mamba2 = [&](const char* name, int64_t nheads, int64_t headdim, int64_t dstate,
                          int64_t ngroups) {
    all.push_back(
        {name, [=](Tensors& t) { return make(t, nheads, headdim, dstate, ngroups, true); }});
  };
  mamba1("mamba_130m_decode", 1536);
  mamba1("mamba_2.8b_decode", 5120);
  mamba1("falcon_mamba_7b_decode", 8192);
  mamba2("falcon_h1_0.5b_decode", 24, 64, 128, 1);
  mamba2("falcon_h1_7b_decode", 24, 128, 256, 1);
  mamba2("granite_4_h_tiny_decode", 48, 64, 128, 1);
  mamba2("mamba2_2.7b_decode", 80, 64, 128, 1);
  mamba2("codestral_7b_decode", 128, 64, 128, 8);
  mamba2("nemotron_nano_9b_v2_decode", 128, 80, 128, 8);
  mamba2("h128_p80_n128_decode", 128, 80, 128, 1);  // of ggml's own performance tests
  mamba2("plamo_2_1b_decode", 32, 128, 64, 1);
  mamba2("nemotron_3_puzzle_decode", 128, 64, 96, 8);
  return all;
}

// An update of Mamba-2 is three operations on the state, one of Mamba-1 has its exponential, too.
Work work_of(const SelectiveStateUpdate::Args& a) {
  const auto updates = static_cast<double>(a.x.elements() * a.B.shape[3]);
  const bool tied = a.A.stride[2] == 0;
  const double once = bytes_of(a.state, a.x, a.y) + (tied ? 0 : bytes_of(a.A));
  return {.updates = updates,
          .multiply_adds = (tied ? 3 : 8) * updates,
          .bytes = once + bytes_of(a.state),
          .footprint = once};
}

}  // namespace hiss::bench
