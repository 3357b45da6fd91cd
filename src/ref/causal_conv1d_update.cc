// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/causal_conv1d_update.h"

#include "core/sequences.h"
#include "ref/ref.h"

namespace hiss::ref {
namespace {

// Channel d of batch row b.
void update_channel(const CausalConv1dUpdate::Args& args, int64_t b, int64_t d) {
  const int64_t ntokens = args.x.shape[1];
  const int64_t history = args.weight.shape[1] - 1;
  const int64_t slot = args.state_indices.present() ? index_at(args.state_indices, b) : b;
  for (int64_t t = 0; t < ntokens; ++t) {
    if (slot < 0) {
      put(0.0, args.y, b, t, d);
      continue;
    }
    const double x = at(args.x, b, t, d);
    double sum = at_or(0.0, args.bias, d) + at(args.weight, d, history) * x;
    for (int64_t k = 0; k < history; ++k) sum += at(args.weight, d, k) * at(args.state, slot, k, d);
    put(args.activation == Activation::kSilu ? silu(sum) : sum, args.y, b, t, d);

    for (int64_t k = 0; k < history; ++k) {
      put(k + 1 < history ? at(args.state, slot, k + 1, d) : x, args.state, slot, k, d);
      if (args.snapshots.present()) put(at(args.state, slot, k, d), args.snapshots, b, t, k, d);
    }
  }
}

Decline why_not(const CausalConv1dUpdate::Problem&, const Machine&) { return {}; }

Status run(const CausalConv1dUpdate::Args& args, const Launch& launch) {
  const int64_t batch = args.x.shape[0], dim = args.x.shape[2];
  for_each_item(launch, batch * dim,
                [&](int64_t item, int64_t) { update_channel(args, item / dim, item % dim); });
  return {};
}

}  // namespace

extern constinit const Kernel<CausalConv1dUpdate> causal_conv1d_update;
constinit const Kernel<CausalConv1dUpdate> causal_conv1d_update{
    .name = "causal_conv1d_update/ref", .why_not = why_not, .workspace_bytes = nullptr, .run = run};

}  // namespace hiss::ref
