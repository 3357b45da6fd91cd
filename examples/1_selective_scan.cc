// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// One call of an operator: which kernel will run, and what it gives. With A = 0 nothing decays and
// with B = C = delta = 1 the scan is a running sum, so the answer can be seen.

#include <hiss/context.h>
#include <hiss/ops/selective_scan.h>

#include <iostream>
#include <vector>

int main() {
  using hiss::DType;
  const int64_t batch = 1, seqlen = 5, dim = 2, dstate = 1, ngroups = 1;

  auto context = hiss::Context::create({.threads = 1});
  if (!context) {
    std::cerr << context.error().to_string() << '\n';
    return 1;
  }

  // A view is a pointer, a type and a shape; the memory stays yours.
  const std::vector<float> u = {1, 10, 2, 20, 3, 30, 4, 40, 5, 50};
  const std::vector<float> dt(seqlen * dim, 1.0f), A(dim * dstate, 0.0f);
  const std::vector<float> ones(seqlen * ngroups * dstate, 1.0f);
  std::vector<float> y(seqlen * dim), final_state(batch * dim * dstate);
  hiss::SelectiveScan::Args args;
  args.u = {u.data(), DType::kF32, {batch, seqlen, dim}};
  args.dt = {dt.data(), DType::kF32, {batch, seqlen, dim}};
  args.A = {A.data(), DType::kF32, {dim, dstate}};
  args.B = {ones.data(), DType::kF32, {batch, seqlen, ngroups, dstate}};
  args.C = {ones.data(), DType::kF32, {batch, seqlen, ngroups, dstate}};
  args.y = {y.data(), DType::kF32, {batch, seqlen, dim}};
  args.final_state = {final_state.data(), DType::kF32, {batch, dim, dstate}};

  const auto problem = hiss::SelectiveScan::describe(args);
  const auto explanation = hiss::explain<hiss::SelectiveScan>(problem, context->machine());
  for (const auto& row : explanation.rows)
    std::cout << row.kernel << ": "
              << (row.kernel == explanation.chosen ? "runs"
                  : row.declined.empty()           ? "could run"
                                                   : row.declined)
              << '\n';

  if (const hiss::Status status = hiss::selective_scan(*context, args); !status.ok()) {
    std::cerr << status.to_string() << '\n';
    return 1;
  }
  for (int64_t t = 0; t < seqlen; ++t) std::cout << y[t * dim] << ' ' << y[t * dim + 1] << '\n';
  return final_state[0] == 15 && final_state[1] == 150 ? 0 : 1;
}
