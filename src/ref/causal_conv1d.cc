// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/causal_conv1d.h"

#include "core/sequences.h"
#include "ref/ref.h"

namespace hiss::ref {
namespace {

// One channel of one sequence, its tokens numbered in the order in which they are consumed.
class Channel {
 public:
  Channel(const CausalConv1d::Args& args, int64_t s, int64_t d)
      : args_(args),
        sequence_(sequence_at(args.cu_seqlens, args.x.shape[1], s)),
        history_(args.weight.shape[1] - 1),
        s_(s),
        d_(d) {}

  void run() const {
    for (int64_t i = 0; i < sequence_.length; ++i) {
      double sum = at_or(0.0, args_.bias, d_);
      for (int64_t k = 0; k <= history_; ++k)
        sum += at(args_.weight, d_, k) * input(i - history_ + k);
      const double y = args_.activation == Activation::kSilu ? silu(sum) : sum;
      put(y, args_.y, sequence_.row, token(i), d_);
    }
    if (!args_.final_state.present()) return;
    // Row j comes from row j or a later one: correct in place, too.
    for (int64_t j = 0; j < history_; ++j)
      put(input(sequence_.length - history_ + j), args_.final_state, s_, j, d_);
  }

 private:
  int64_t token(int64_t i) const {
    const int64_t step = args_.direction == Direction::kForward ? i : sequence_.length - 1 - i;
    return sequence_.begin + step;
  }
  // Negative i: before the first token.
  double input(int64_t i) const {
    return i >= 0 ? at(args_.x, sequence_.row, token(i), d_)
                  : at_or(0.0, args_.initial_state, s_, history_ + i, d_);
  }

  const CausalConv1d::Args& args_;
  const Sequence sequence_;
  const int64_t history_, s_, d_;
};

Decline why_not(const CausalConv1d::Problem&, const Machine&) { return {}; }

Status run(const CausalConv1d::Args& args, const Launch& launch) {
  const int64_t nseq = args.cu_seqlens.present() ? args.cu_seqlens.shape[0] - 1 : args.x.shape[0];
  const int64_t dim = args.x.shape[2];
  for_each_item(launch, nseq * dim,
                [&](int64_t item, int64_t) { Channel(args, item / dim, item % dim).run(); });
  return {};
}

}  // namespace

extern constinit const Kernel<CausalConv1d> causal_conv1d;
constinit const Kernel<CausalConv1d> causal_conv1d{
    .name = "causal_conv1d/ref", .why_not = why_not, .workspace_bytes = nullptr, .run = run};

}  // namespace hiss::ref
