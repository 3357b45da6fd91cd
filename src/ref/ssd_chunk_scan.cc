// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/ssd_chunk_scan.h"

#include "core/sequences.h"
#include "ref/ref.h"

namespace hiss::ref {
namespace {

// Where one row of a head's state lives: sequence, head, row.
struct Row {
  int64_t s, h, p;
};

double skip(const ConstTensorView& D, int64_t h, int64_t p) {
  return D.rank == 2 ? at(D, h, p) : at(D, h);
}

// The recurrence token by token, without chunks. state has room for dstate values.
void scan_row(const SsdChunkScan::Args& args, Row row, DType state_dtype, double* state) {
  const auto [s, h, p] = row;
  const int64_t dstate = args.B.shape[3];
  const int64_t g = h / (args.x.shape[2] / args.B.shape[2]);
  const Sequence sequence = sequence_at(args.cu_seqlens, args.x.shape[1], s);
  const int64_t b = sequence.row;
  const int64_t ncheckpoints =
      args.checkpoint_tokens.present() ? args.checkpoint_tokens.shape[0] : 0;
  const double A = decay_rate(args, at(args.A, h));

  for (int64_t n = 0; n < dstate; ++n) state[n] = at_or(0.0, args.initial_states, s, h, p, n);
  for (int64_t t = sequence.begin; t < sequence.begin + sequence.length; ++t) {
    const double x = at(args.x, b, t, h, p);
    const double delta = step_size(args, at(args.dt, b, t, h) + at_or(0.0, args.dt_bias, h));
    const double decay = std::exp(delta * A);
    double y = args.D.present() ? skip(args.D, h, p) * x : 0.0;
    for (int64_t n = 0; n < dstate; ++n) {
      state[n] = decay * state[n] + delta * at(args.B, b, t, g, n) * x;
      // What a caller who cuts the sequence here would hand to the next call.
      if (args.precision == Precision::kStrict) state[n] = rounded_to(state_dtype, state[n]);
      y += at(args.C, b, t, g, n) * state[n];
    }
    if (args.z.present()) y *= silu(at(args.z, b, t, h, p));
    put(y, args.y, b, t, h, p);

    for (int64_t k = 0; k < ncheckpoints; ++k)
      if (index_at(args.checkpoint_tokens, k) == t)
        for (int64_t n = 0; n < dstate; ++n) put(state[n], args.checkpoint_states, b, k, h, p, n);
  }
  if (args.final_states.present())
    for (int64_t n = 0; n < dstate; ++n) put(state[n], args.final_states, s, h, p, n);
}

Decline why_not(const SsdChunkScan::Problem&, const Machine&) { return {}; }

// One row's state for each task.
size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine&) {
  const int64_t tasks = tasks_for(p.nseq * p.nheads * p.headdim);
  return static_cast<size_t>(tasks * p.dstate) * sizeof(double);
}

Status run(const SsdChunkScan::Args& args, const Launch& launch) {
  const SsdChunkScan::Problem problem = SsdChunkScan::describe(args);
  const int64_t nheads = problem.nheads, headdim = problem.headdim;
  auto* states = reinterpret_cast<double*>(launch.workspace.data());
  for_each_item(launch, problem.nseq * nheads * headdim, [&](int64_t item, int64_t task) {
    const Row row{item / headdim / nheads, item / headdim % nheads, item % headdim};
    scan_row(args, row, problem.state_dtype, states + task * problem.dstate);
  });
  return {};
}

}  // namespace

extern constinit const Kernel<SsdChunkScan> ssd_chunk_scan;
constinit const Kernel<SsdChunkScan> ssd_chunk_scan{.name = "ssd_chunk_scan/ref",
                                                    .why_not = why_not,
                                                    .workspace_bytes = workspace_bytes,
                                                    .run = run};

}  // namespace hiss::ref
