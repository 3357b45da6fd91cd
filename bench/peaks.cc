// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "peaks.h"

#include <algorithm>
#include <cstring>
#include <functional>
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

}  // namespace hiss::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#if HWY_ONCE
namespace hiss::bench {
namespace {

// The best of several runs, in units a second; work returns its units.
double best_rate(const std::function<double()>& work) {
  double best = 0;
  for (int run = 0; run < 20; ++run) {
    const double start = milliseconds(true);
    const double units = work();
    best = std::max(best, 1e3 * units / (milliseconds(true) - start));
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

}  // namespace

Peaks measure_peaks() {
  constexpr size_t kBytes = 64 << 20;
  std::vector<char> from(kBytes, 1), to(kBytes, 2);
  std::vector<float> x(2048, -1.0f), y(x.size());
  const auto n = static_cast<int64_t>(x.size());
  return {
      .multiply_adds = best_rate([] { return multiply_add_on(this_machine(), 1 << 18); }),
      .copied_bytes = best_rate([&] {
        std::memcpy(to.data(), from.data(), kBytes);
        return 2.0 * kBytes;
      }),
      .exponentials = best_rate([&] {
        for (int i = 0; i < 200; ++i) cpu::array_math().exp(x.data(), n, y.data());
        return 200.0 * static_cast<double>(n);
      }),
  };
}

}  // namespace hiss::bench
#endif  // HWY_ONCE
