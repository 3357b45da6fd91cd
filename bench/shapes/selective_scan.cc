// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "shapes.h"

namespace hiss::bench {
namespace {

// in_prompt: a language model's layer, whose state comes from somewhere and goes on.
SelectiveScan::Args make(Tensors& t, int64_t batch, int64_t seqlen, int64_t dim, bool in_prompt) {
  constexpr int64_t kDstate = 16;
  SelectiveScan::Args args;
  args.u = t.normal({batch, seqlen, dim}), args.z = t.normal({batch, seqlen, dim});
  args.dt = t.normal({batch, seqlen, dim}, -3.0f), args.dt_bias = t.normal({dim}, -1.0f, 0.3f);
  const TensorView A = t.normal({dim, kDstate}, 0.0f, 0.1f);
  for (int64_t i = 0; i < A.elements(); ++i)  // -1 ... -16, disturbed
    A.as<float>()[i] = -static_cast<float>(i % kDstate + 1) * std::exp(A.as<float>()[i]);
  args.A = A, args.D = t.normal({dim}, 1.0f, 0.1f);
  args.B = t.normal({batch, seqlen, 1, kDstate}), args.C = t.normal({batch, seqlen, 1, kDstate});
  args.y = t.normal({batch, seqlen, dim});
  if (in_prompt) {
    args.initial_state = t.normal({batch, dim, kDstate});
    args.final_state = t.normal({batch, dim, kDstate});
  }
  args.dt_softplus = true;
  return args;
}

}  // namespace

template <>
std::vector<Shape<SelectiveScan>> shapes<SelectiveScan>(bool quick) {
  std::vector<Shape<SelectiveScan>> all;
  const auto add = [&](const char* name, int64_t batch, int64_t seqlen, int64_t dim,
                       bool in_prompt = false) {
    if (quick && batch > 1) batch = std::max<int64_t>(2, batch / 16);
    if (quick) seqlen = std::min<int64_t>(seqlen, 128);
    all.push_back({name, [=](Tensors& t) { return make(t, batch, seqlen, dim, in_prompt); }});
  };
  add("mamba_130m", 1, 512, 1536, true);
  add("mamba_2.8b", 1, 512, 5120, true);
  add("falcon_mamba_7b", 1, 512, 8192, true);
  add("re_use_8k_time", 81, 251, 256), add("re_use_8k_frequency", 251, 81, 256);
  add("re_use_16k_time", 161, 251, 256), add("re_use_16k_frequency", 251, 161, 256);
  add("re_use_44k_time", 442, 252, 256), add("re_use_44k_frequency", 252, 442, 256);
  add("re_use_48k_time", 481, 251, 256), add("re_use_48k_frequency", 251, 481, 256);
  add("re_use_one_sequence", 1, 161, 256);
  add("bundled_16k_time", 161, 251, 64), add("bundled_16k_frequency", 251, 161, 64);
  return all;
}

// On the pipe that multiplies: five operations of the decay (four in the fast class), three of the
// recurrence and the sum. The softplus and the gate of an element take 31.
Work work_of(const SelectiveScan::Args& a) {
  const auto elements = static_cast<double>(a.u.elements());
  const double updates = elements * static_cast<double>(a.A.shape[1]);
  const double operations = a.precision == Precision::kFast ? 7 : 8;
  return {.updates = updates,
          .multiply_adds = operations * updates + 31 * elements,
          .bytes = bytes_of(a.u, a.dt, a.z, a.y, a.B, a.C, a.initial_state, a.final_state)};
}

}  // namespace hiss::bench
