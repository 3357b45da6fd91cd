// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/selective_scan.h"

#include "core/sequences.h"
#include "ref/ref.h"

namespace hiss::ref {
namespace {

// Channel d of sequence s; h has room for dstate values.
void scan_channel(const SelectiveScan::Args& args, int64_t s, int64_t d, double* h) {
  const int64_t dstate = args.A.shape[1];
  const int64_t g = d / (args.u.shape[2] / args.B.shape[2]);
  const Sequence sequence = sequence_at(args.cu_seqlens, args.u.shape[1], s);
  const int64_t b = sequence.row;
  const int64_t ncheckpoints =
      args.checkpoint_tokens.present() ? args.checkpoint_tokens.shape[0] : 0;

  for (int64_t n = 0; n < dstate; ++n) h[n] = at_or(0.0, args.initial_state, s, d, n);
  for (int64_t i = 0; i < sequence.length; ++i) {
    const bool forward = args.direction == Direction::kForward;
    const int64_t t = sequence.begin + (forward ? i : sequence.length - 1 - i);
    const double u = at(args.u, b, t, d);
    const double delta = step_size(args, at(args.dt, b, t, d) + at_or(0.0, args.dt_bias, d));
    double y = args.D.present() ? at(args.D, d) * u : 0.0;
    for (int64_t n = 0; n < dstate; ++n) {
      const double A = decay_rate(args, at(args.A, d, n));
      h[n] = std::exp(delta * A) * h[n] + delta * at(args.B, b, t, g, n) * u;
      // What a caller who cuts the sequence here would hand to the next call.
      if (args.precision == Precision::kStrict) h[n] = rounded_to(DType::kF32, h[n]);
      y += at(args.C, b, t, g, n) * h[n];
    }
    if (args.z.present()) y *= silu(at(args.z, b, t, d));
    put(y, args.y, b, t, d);

    for (int64_t k = 0; k < ncheckpoints; ++k)
      if (index_at(args.checkpoint_tokens, k) == t)
        for (int64_t n = 0; n < dstate; ++n) put(h[n], args.checkpoint_states, b, k, d, n);
  }
  if (args.final_state.present())
    for (int64_t n = 0; n < dstate; ++n) put(h[n], args.final_state, s, d, n);
}

Decline why_not(const SelectiveScan::Problem&, const Machine&) { return {}; }

// One channel's state for each task.
size_t workspace_bytes(const SelectiveScan::Problem& p, const Machine&) {
  return static_cast<size_t>(tasks_for(p.nseq * p.dim) * p.dstate) * sizeof(double);
}

Status run(const SelectiveScan::Args& args, const Launch& launch) {
  const int64_t nseq = args.cu_seqlens.present() ? args.cu_seqlens.shape[0] - 1 : args.u.shape[0];
  const int64_t dim = args.u.shape[2], dstate = args.A.shape[1];
  auto* states = reinterpret_cast<double*>(launch.workspace.data());
  for_each_item(launch, nseq * dim, [&](int64_t item, int64_t task) {
    scan_channel(args, item / dim, item % dim, states + task * dstate);
  });
  return {};
}

}  // namespace

extern constinit const Kernel<SelectiveScan> selective_scan;
constinit const Kernel<SelectiveScan> selective_scan{.name = "selective_scan/ref",
                                                     .why_not = why_not,
                                                     .workspace_bytes = workspace_bytes,
                                                     .run = run};

}  // namespace hiss::ref
