// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "measure.h"

#include "pinned_pool.h"

namespace hiss::bench {

Status check_answer(const std::string& who, const ConstTensorView& answer,
                    const ConstTensorView& expected, const ErrorBound& bound) {
  const ops::Comparison c = ops::compare(answer, expected, bound);
  return c.within ? Status() : DataLoss(who + ": wrong answer, " + c.text);
}

Executor& Bench::executor(int threads) {
  std::unique_ptr<Executor>& pool = executors_[threads];
  if (pool == nullptr) pool = make_pinned_pool(threads);
  return *pool;
}

double Bench::bytes_a_second(const Work& work, int threads) {
  const bool in_place = work.footprint < work.bytes;
  double& rate = moving_[{work.footprint, in_place, threads}];
  if (rate == 0)
    rate = measure_moving(static_cast<int64_t>(work.footprint), in_place, executor(threads));
  return rate;
}

double compute_bound(const Work& work, bool sixteen_bits, int threads, const Peaks& peaks) {
  const bool bf16 = sixteen_bits && peaks.bf16_multiply_adds > 0;
  const double matrix_rate = bf16 ? peaks.bf16_multiply_adds : peaks.multiply_adds;
  const double others = work.multiply_adds - work.matrix_multiply_adds;
  return 1e3 / threads * (work.matrix_multiply_adds / matrix_rate + others / peaks.multiply_adds);
}

void Bench::bound(const Work& work, bool sixteen_bits, int threads, Row& row) {
  const bool bf16 = sixteen_bits && work.matrix_multiply_adds > 0 && peaks_.bf16_multiply_adds > 0;
  const double compute_ms = compute_bound(work, sixteen_bits, threads, peaks_);
  const double memory_ms = 1e3 * work.bytes / bytes_a_second(work, threads);
  row.bound_ms = std::max(compute_ms, memory_ms);
  row.bound_kind = memory_ms > compute_ms ? "memory" : bf16 ? "bf16" : "fma";
}

}  // namespace hiss::bench
