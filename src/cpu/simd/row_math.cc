// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/simd/row_math.h"

#include "core/float16.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/row_math.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"
// After foreach_target.h: compiled once per target.
#include "cpu/simd/elements-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

void to_bf16(const float* x, int64_t n, uint16_t* result) {
  copy_elements(x, n, reinterpret_cast<hwy::bfloat16_t*>(result));
}

}  // namespace
extern constinit const RowMath kRowMath;
constinit const RowMath kRowMath{.isa = HISS_ISA_NAME, .to_bf16 = to_bf16};
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#if HWY_ONCE
namespace hiss::cpu {
namespace {

constinit const RowMath kBaselineRowMath{
    .isa = "baseline", .to_bf16 = [](const float* x, int64_t n, uint16_t* result) {
      for (int64_t i = 0; i < n; ++i) result[i] = bf16_from_float(x[i]);
    }};

}  // namespace

std::vector<const RowMath*> all_row_math(const Machine& machine) {
  std::vector<const RowMath*> found;
#if defined(__x86_64__)
  if (machine.avx512) found.push_back(&N_AVX3::kRowMath);
  if (machine.avx2) found.push_back(&N_AVX2::kRowMath);
  if (machine.sse4) found.push_back(&N_SSE4::kRowMath);
#elif defined(__aarch64__)
  if (machine.neon) found.push_back(&N_NEON::kRowMath);
#endif
  found.push_back(&kBaselineRowMath);
  return found;
}

const RowMath& row_math() {
  static const RowMath& best = *all_row_math(this_machine()).front();
  return best;
}

}  // namespace hiss::cpu
#endif  // HWY_ONCE
