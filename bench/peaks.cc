// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "peaks.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "clock.h"
#include "cpu/simd/array_math.h"
#include "hiss/machine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "peaks.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/simd/isa-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains: more than latency times issue of any CPU we know. Returns the multiply-adds done.
double multiply_add(int rounds, float* result) {
  const hn::ScalableTag<float> d;
  const auto a = hn::Set(d, 0.999f), b = hn::Set(d, 1e-3f);
  auto x0 = hn::Iota(d, 0), x1 = hn::Iota(d, 1), x2 = hn::Iota(d, 2), x3 = hn::Iota(d, 3);
  auto x4 = hn::Iota(d, 4), x5 = hn::Iota(d, 5), x6 = hn::Iota(d, 6), x7 = hn::Iota(d, 7);
  auto x8 = hn::Iota(d, 8), x9 = hn::Iota(d, 9), x10 = hn::Iota(d, 10), x11 = hn::Iota(d, 11);
  for (int i = 0; i < rounds; ++i) {
    x0 = hn::MulAdd(x0, a, b), x1 = hn::MulAdd(x1, a, b), x2 = hn::MulAdd(x2, a, b);
    x3 = hn::MulAdd(x3, a, b), x4 = hn::MulAdd(x4, a, b), x5 = hn::MulAdd(x5, a, b);
    x6 = hn::MulAdd(x6, a, b), x7 = hn::MulAdd(x7, a, b), x8 = hn::MulAdd(x8, a, b);
    x9 = hn::MulAdd(x9, a, b), x10 = hn::MulAdd(x10, a, b), x11 = hn::MulAdd(x11, a, b);
  }
  const auto s = hn::Add(hn::Add(hn::Add(x0, x1), hn::Add(x2, x3)), hn::Add(x4, x5));
  const auto t = hn::Add(hn::Add(hn::Add(x6, x7), hn::Add(x8, x9)), hn::Add(x10, x11));
  hn::StoreU(hn::Add(s, t), d, result);
  return 12.0 * HWY_LANES(float) * rounds;
}

// Reads and writes each value once.
void scale_in_place(float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 1.0f);
  for (int64_t i = 0; i + HWY_LANES(float) <= n; i += HWY_LANES(float))
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), factor), d, x + i);
}

}  // namespace hiss::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#if HWY_ONCE
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hiss::bench {
namespace {

#if defined(__x86_64__)
// Pairs of BF16 products added to F32. Returns the multiply-adds done.
__attribute__((target("avx512f,avx512bf16"))) double bf16_multiply_add(int rounds, float* result) {
  const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.5f));
  __m512 x[12];  // different, or the compiler makes one chain of them
  for (int i = 0; i < 12; ++i) x[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int i = 0; i < rounds; ++i)
    for (__m512& sum : x) sum = _mm512_dpbf16_ps(sum, a, a);
  __m512 all = x[0];
  for (const __m512& sum : x) all = _mm512_add_ps(all, sum);
  _mm512_storeu_ps(result, all);
  return 12.0 * 32 * rounds;
}
#endif

// The best of several runs, in units a second; work returns its units.
double best_rate(int runs, bool of_this_thread, const std::function<double()>& work) {
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    const double start = milliseconds(of_this_thread);
    const double units = work();
    best = std::max(best, 1e3 * units / (milliseconds(of_this_thread) - start));
  }
  return best;
}

double multiply_add_on(const Machine& machine, int rounds) {
  float result[16];
#if defined(__x86_64__)
  if (machine.avx512) return N_AVX3::multiply_add(rounds, result);
  if (machine.avx2) return N_AVX2::multiply_add(rounds, result);
  return N_SSE4::multiply_add(rounds, result);
#else
  return machine.neon ? N_NEON::multiply_add(rounds, result) : 0.0;
#endif
}

void scale_in_place_on(const Machine& machine, float* x, int64_t n) {
#if defined(__x86_64__)
  if (machine.avx512) return N_AVX3::scale_in_place(x, n);
  if (machine.avx2) return N_AVX2::scale_in_place(x, n);
  return N_SSE4::scale_in_place(x, n);
#else
  if (machine.neon) N_NEON::scale_in_place(x, n);
#endif
}

// 0: this machine has no such instruction.
double bf16_rate([[maybe_unused]] const Machine& machine) {
#if defined(__x86_64__)
  float result[16];
  if (machine.avx512_bf16)
    return best_rate(20, true, [&] { return bf16_multiply_add(1 << 17, result); });
#endif
  return 0;
}

}  // namespace

Peaks measure_peaks() {
  std::vector<float> x(2048, -1.0f), y(x.size());
  const auto n = static_cast<int64_t>(x.size());
  return {
      .multiply_adds = best_rate(20, true, [] { return multiply_add_on(this_machine(), 1 << 18); }),
      .bf16_multiply_adds = bf16_rate(this_machine()),
      .exponentials = best_rate(20, true,
                                [&] {
                                  for (int i = 0; i < 200; ++i)
                                    cpu::array_math().exp(x.data(), n, y.data());
                                  return 200.0 * static_cast<double>(n);
                                }),
      .copied_bytes = measure_moving(int64_t{128} << 20, false, serial_executor()),
  };
}

PeaksTogether measure_peaks_together(Executor& executor) {
  constexpr int kRounds = 1 << 20;
  std::vector<double> done(static_cast<size_t>(executor.workers()));
  const double multiply_adds = best_rate(20, false, [&] {
    executor.run(executor.workers(), [&](int64_t task, int) {
      done[static_cast<size_t>(task)] = multiply_add_on(this_machine(), kRounds);
    });
    return std::accumulate(done.begin(), done.end(), 0.0);
  });
  return {executor.workers(), multiply_adds, measure_moving(int64_t{128} << 20, false, executor)};
}

double measure_moving(int64_t footprint, bool in_place, Executor& executor) {
  const int64_t parts = executor.workers();
  const int64_t part = footprint / (in_place ? 4 : 8) / parts + 1;  // floats
  std::vector<float> from(static_cast<size_t>(part * parts), 1), to(in_place ? 0 : from.size(), 2);
  const int64_t bytes = 8 * part * parts;
  const auto times = static_cast<int>(std::max<int64_t>(1, (1 << 22) / bytes));
  return best_rate(15, parts == 1, [&] {
    executor.run(parts, [&](int64_t task, int) {
      float* x = from.data() + task * part;
      for (int i = 0; i < times; ++i) {
        if (in_place)
          scale_in_place_on(this_machine(), x, part);
        else
          std::memcpy(to.data() + task * part, x, static_cast<size_t>(part) * sizeof(float));
      }
    });
    return static_cast<double>(bytes) * times;
  });
}

}  // namespace hiss::bench
#endif  // HWY_ONCE
