// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/selective_state_update.h"

#include "core/sequences.h"
#include "ref/ref.h"

namespace hiss::ref {
namespace {

// Where one row of a head's state lives: batch row, head, row.
struct Row {
  int64_t b, h, p;
};

// s has room for dstate values.
void update_row(const SelectiveStateUpdate::Args& args, Row row, double* s) {
  const auto [b, h, p] = row;
  const int64_t ntokens = args.x.shape[1], dstate = args.B.shape[3];
  const int64_t g = h / (args.x.shape[2] / args.B.shape[2]);
  const int64_t slot = args.state_indices.present() ? index_at(args.state_indices, b) : b;
  if (slot < 0) {
    for (int64_t t = 0; t < ntokens; ++t) put(0.0, args.y, b, t, h, p);
    return;
  }

  const bool initial = args.initial_states.present();
  for (int64_t n = 0; n < dstate; ++n)
    s[n] = initial ? at(args.initial_states, b, h, p, n) : at(args.state, slot, h, p, n);
  for (int64_t t = 0; t < ntokens; ++t) {
    const double x = at(args.x, b, t, h, p);
    const double delta = step_size(args, at(args.dt, b, t, h, p) + at_or(0.0, args.dt_bias, h, p));
    double y = args.D.present() ? at(args.D, h, p) * x : 0.0;
    for (int64_t n = 0; n < dstate; ++n) {
      const double A = decay_rate(args, at(args.A, h, p, n));
      s[n] = std::exp(delta * A) * s[n] + delta * at(args.B, b, t, g, n) * x;
      // What a call for this token alone would have stored.
      if (args.precision == Precision::kStrict) s[n] = rounded_to(args.state.dtype, s[n]);
      y += at(args.C, b, t, g, n) * s[n];
      if (args.snapshots.present()) put(s[n], args.snapshots, b, t, h, p, n);
    }
    if (args.z.present()) y *= silu(at(args.z, b, t, h, p));
    put(y, args.y, b, t, h, p);
  }
  for (int64_t n = 0; n < dstate; ++n) put(s[n], args.state, slot, h, p, n);
}

Decline why_not(const SelectiveStateUpdate::Problem&, const Machine&) { return {}; }

// One row's state for each task.
size_t workspace_bytes(const SelectiveStateUpdate::Problem& p, const Machine&) {
  const int64_t tasks = tasks_for(p.batch * p.nheads * p.headdim);
  return static_cast<size_t>(tasks * p.dstate) * sizeof(double);
}

Status run(const SelectiveStateUpdate::Args& args, const Launch& launch) {
  const int64_t batch = args.x.shape[0], nheads = args.x.shape[2], headdim = args.x.shape[3];
  const int64_t dstate = args.B.shape[3];
  auto* states = reinterpret_cast<double*>(launch.workspace.data());
  for_each_item(launch, batch * nheads * headdim, [&](int64_t item, int64_t task) {
    const Row row{item / headdim / nheads, item / headdim % nheads, item % headdim};
    update_row(args, row, states + task * dstate);
  });
  return {};
}

}  // namespace

extern constinit const Kernel<SelectiveStateUpdate> selective_state_update;
constinit const Kernel<SelectiveStateUpdate> selective_state_update{
    .name = "selective_state_update/ref",
    .why_not = why_not,
    .workspace_bytes = workspace_bytes,
    .run = run};

}  // namespace hiss::ref
