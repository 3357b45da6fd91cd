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
#include "cpu/simd/winograd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace {

void to_bf16(const float* x, int64_t n, uint16_t* result) {
#ifdef HISS_ISA
  copy_elements(x, n, reinterpret_cast<hwy::bfloat16_t*>(result));
#else
  for (int64_t i = 0; i < n; ++i) result[i] = bf16_from_float(x[i]);
#endif
}

#ifdef HISS_ISA
// One vector of channels.
template <class D, class DD = hwy::HWY_NAMESPACE::Repartition<double, D>>
HWY_INLINE void sum_vector(D d, const float* x, int64_t cols, int64_t stride, double* sum,
                           double* squares) {
  namespace hn = hwy::HWY_NAMESPACE;
  const DD dd;
  const hn::Half<D> half;
  auto sum0 = hn::Zero(dd), sum1 = sum0, squares0 = sum0, squares1 = sum0;
  for (int64_t w = 0; w < cols; ++w) {
    const auto v = hn::LoadU(d, x + w * stride);
    const auto v0 = hn::PromoteTo(dd, hn::LowerHalf(half, v));
    const auto v1 = hn::PromoteTo(dd, hn::UpperHalf(half, v));
    sum0 = hn::Add(sum0, v0);
    sum1 = hn::Add(sum1, v1);
    squares0 = hn::MulAdd(v0, v0, squares0);
    squares1 = hn::MulAdd(v1, v1, squares1);
  }
  hn::StoreU(sum0, dd, sum);
  hn::StoreU(sum1, dd, sum + HWY_LANES(double));
  hn::StoreU(squares0, dd, squares);
  hn::StoreU(squares1, dd, squares + HWY_LANES(double));
}
#endif

void channel_sums(const Row& x, double* sums) {
  int64_t c = 0;
#ifdef HISS_ISA
  for (; c + row::kLanes <= x.channels; c += row::kLanes)
    sum_vector(row::Tag(), x.data + c, x.cols, x.stride, sums + c, sums + x.channels + c);
#endif
  for (; c < x.channels; ++c) {
    double sum = 0, squares = 0;
    for (int64_t w = 0; w < x.cols; ++w) {
      const double v = x.data[w * x.stride + c];
      sum += v;
      squares += v * v;
    }
    sums[c] = sum;
    sums[x.channels + c] = squares;
  }
}

}  // namespace
extern constinit const RowMath kRowMath;
constinit const RowMath kRowMath{
#ifdef HISS_ISA
    .isa = HISS_ISA_NAME,
#else
    .isa = "baseline",
#endif
    .to_bf16 = to_bf16,
    .channel_sums = channel_sums,
    .norm_prelu = row::norm_prelu,
    .layer_norm_residual = row::layer_norm_residual,
    .winograd_input = row::winograd_input,
    .winograd_output = row::winograd_output};
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hiss::cpu {

std::vector<const RowMath*> all_row_math(const Machine& machine) {
  std::vector<const RowMath*> found;
#if defined(__x86_64__)
  if (machine.avx512) found.push_back(&N_AVX3::kRowMath);
  if (machine.avx2) found.push_back(&N_AVX2::kRowMath);
  if (machine.sse4) found.push_back(&N_SSE4::kRowMath);
#endif
  (void)machine;
  found.push_back(&HWY_NAMESPACE::kRowMath);
  return found;
}

const RowMath& row_math() {
  static const RowMath& best = *all_row_math(this_machine()).front();
  return best;
}

}  // namespace hiss::cpu
#endif  // HWY_ONCE
