// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/ssd_chunk_scan.h"

#include "core/sequences.h"
#include "ref/ref.h"

namespace hiss::ref {
namespace {

// A head of a sequence.
struct Head {
  int64_t s, h;
};

// The memory of one task: the head's state (headdim, dstate) and one token's B and C.
struct Scratch {
  double* state;
  double* B;
  double* C;
};

double skip(const ConstTensorView& D, int64_t h, int64_t p) {
  return D.rank == 2 ? at(D, h, p) : at(D, h);
}

// The recurrence token by token, without chunks.
void scan_head(const SsdChunkScan::Args& args, Head head, DType state_dtype, Scratch scratch) {
  const auto [s, h] = head;
  const int64_t headdim = args.x.shape[3], dstate = args.B.shape[3];
  const int64_t g = h / (args.x.shape[2] / args.B.shape[2]);
  const Sequence sequence = sequence_at(args.cu_seqlens, args.x.shape[1], s);
  const int64_t b = sequence.row;
  const int64_t ncheckpoints =
      args.checkpoint_tokens.present() ? args.checkpoint_tokens.shape[0] : 0;
  const double A = decay_rate(args, at(args.A, h));

  for (int64_t p = 0; p < headdim; ++p)
    for (int64_t n = 0; n < dstate; ++n)
      scratch.state[p * dstate + n] = at_or(0.0, args.initial_states, s, h, p, n);
  for (int64_t t = sequence.begin; t < sequence.begin + sequence.length; ++t) {
    const double delta = step_size(args, at(args.dt, b, t, h) + at_or(0.0, args.dt_bias, h));
    const double decay = std::exp(delta * A);
    for (int64_t n = 0; n < dstate; ++n) {
      scratch.B[n] = at(args.B, b, t, g, n);
      scratch.C[n] = at(args.C, b, t, g, n);
    }
    for (int64_t p = 0; p < headdim; ++p) {
      double* state = scratch.state + p * dstate;
      const double x = at(args.x, b, t, h, p);
      double y = args.D.present() ? skip(args.D, h, p) * x : 0.0;
      for (int64_t n = 0; n < dstate; ++n) {
        state[n] = decay * state[n] + delta * scratch.B[n] * x;
        // What a caller who cuts the sequence here would hand to the next call.
        if (args.precision == Precision::kStrict) state[n] = rounded_to(state_dtype, state[n]);
        y += scratch.C[n] * state[n];
      }
      if (args.z.present()) y *= silu(at(args.z, b, t, h, p));
      put(y, args.y, b, t, h, p);

      for (int64_t k = 0; k < ncheckpoints; ++k)
        if (index_at(args.checkpoint_tokens, k) == t)
          for (int64_t n = 0; n < dstate; ++n) put(state[n], args.checkpoint_states, b, k, h, p, n);
    }
  }
  if (!args.final_states.present()) return;
  for (int64_t p = 0; p < headdim; ++p)
    for (int64_t n = 0; n < dstate; ++n)
      put(scratch.state[p * dstate + n], args.final_states, s, h, p, n);
}

Decline why_not(const SsdChunkScan::Problem&, const Machine&) { return {}; }

// Doubles of the scratch of a task.
int64_t scratch_of(const SsdChunkScan::Problem& p) { return (p.headdim + 2) * p.dstate; }

size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine&) {
  return static_cast<size_t>(tasks_for(p.nseq * p.nheads) * scratch_of(p)) * sizeof(double);
}

Status run(const SsdChunkScan::Args& args, const Launch& launch) {
  const SsdChunkScan::Problem problem = SsdChunkScan::describe(args);
  const int64_t nheads = problem.nheads, matrix = problem.headdim * problem.dstate;
  auto* memory = reinterpret_cast<double*>(launch.workspace.data());
  for_each_item(launch, problem.nseq * nheads, [&](int64_t item, int64_t task) {
    double* state = memory + task * scratch_of(problem);
    scan_head(args, {item / nheads, item % nheads}, problem.state_dtype,
              {state, state + matrix, state + matrix + problem.dstate});
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
