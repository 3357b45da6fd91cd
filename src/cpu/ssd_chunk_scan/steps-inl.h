// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Around the scan itself: step sizes and decays of a head, the states of a segment to and from
// memory, skip and gate.

#if defined(HISS_CPU_SSD_STEPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SSD_STEPS_INL_H
#undef HISS_CPU_SSD_STEPS_INL_H
#else
#define HISS_CPU_SSD_STEPS_INL_H
#endif

#include <algorithm>
#include <cmath>

#include "cpu/simd/math-inl.h"
#include "cpu/ssd_chunk_scan/segment-inl.h"

#ifdef HISS_ISA
HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {

// exp of n doubles, rounded up to whole vectors.
inline void exp_of_doubles(const double* from, int64_t n, float* to) {
  const hn::ScalableTag<float> d;
  const hn::Repartition<double, decltype(d)> dd;
  const hn::Half<decltype(d)> half;
  constexpr int64_t kLanes = HWY_LANES(float), kDoubles = kLanes / 2;
  for (int64_t i = 0; i < n; i += kLanes) {
    const auto lower = hn::Load(dd, from + i), upper = hn::Load(dd, from + i + kDoubles);
    const auto lower_float = hn::DemoteTo(half, lower), upper_float = hn::DemoteTo(half, upper);
    const auto lower_rest = hn::Sub(lower, hn::PromoteTo(dd, lower_float));
    const auto upper_rest = hn::Sub(upper, hn::PromoteTo(dd, upper_float));
    const auto e = exp(d, hn::Combine(d, upper_float, lower_float));
    const auto rest =
        hn::Combine(d, hn::DemoteTo(half, upper_rest), hn::DemoteTo(half, lower_rest));
    hn::Store(hn::Mul(e, hn::Add(rest, hn::Set(d, 1.0f))), d, to + i);  // e may be Inf
  }
}

// delta and delta * A of one head, tokens [t, t + tokens). delta is written in whole vectors.
inline void step_sizes(const SsdChunkScan::Args& args, const Sequence& sequence, int64_t head,
                       int64_t t, int64_t tokens, float* delta, double* log_decay) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = HWY_LANES(float);
  const ConstTensorView& dt = args.dt;
  const int64_t first =
      sequence.row * dt.stride[0] + head * dt.stride[2] + (sequence.begin + t) * dt.stride[1];
  const bool biased = args.dt_bias.present();
  const auto bias =
      hn::Set(d, biased ? args.dt_bias.as<float>()[head * args.dt_bias.stride[0]] : 0.0f);
  double A = args.A.as<float>()[head * args.A.stride[0]];
  if (args.A_is_log) A = -std::exp(A);
  for (int64_t i = 0; i < tokens; i += kLanes) {
    HWY_ALIGN float raw[kLanes] = {};
    for (int64_t lane = 0; lane < std::min(kLanes, tokens - i); ++lane)
      raw[lane] = float_at(Plane{dt.data, dt.dtype}, first + (i + lane) * dt.stride[1]);
    auto v = hn::Add(hn::Load(d, raw), bias);
    if (args.dt_softplus) v = softplus(d, v);
    // As second operand NaN passes.
    v = at_most(hn::Set(d, args.dt_max), at_least(hn::Set(d, args.dt_min), v));
    hn::Store(v, d, delta + i);
  }
  // Beyond 1000 the result is 0 or Inf. NaN passes.
  for (int64_t i = 0; i < tokens; ++i) log_decay[i] = std::clamp(delta[i] * A, -1000.0, 1000.0);
}

// body(p, column, lanes): vectors of a segment, ascending: one may be written past its lanes,
// because the next begins there.
template <class Body>
HWY_INLINE void for_each_vector(const ssd::HeadSegment& segment, Body&& body) {
  constexpr int64_t kLanes = HWY_LANES(float);
  for (int64_t i = 0; i < segment.channels; i += kLanes)
    body(segment.p + i, i, std::min(kLanes, segment.channels - i));
}

// Rows of h, `row` floats apart, are states.
inline void load_segment_state(const Plane& states, const ssd::HeadSegment& segment, int64_t dstate,
                               float* h, int64_t row) {
  const hn::ScalableTag<float> d;
  HWY_ALIGN float buffer[ssd::kTileTokens * HWY_LANES(float)];
  for_each_vector(segment, [&](int64_t p, int64_t column, int64_t lanes) HWY_ATTR {
    for (int64_t n = 0; n < dstate; n += ssd::kTileTokens) {
      const int64_t count = std::min(ssd::kTileTokens, dstate - n);
      const Rows rows = load_tile(d, states, n, count, p, lanes, buffer);
      for (int64_t i = 0; i < count; ++i)
        hn::StoreU(hn::LoadU(d, rows.data + i * rows.stride), d, h + (n + i) * row + column);
    }
  });
}

inline void store_segment_state(const float* h, int64_t row, float scale,
                                const ssd::HeadSegment& segment, int64_t dstate,
                                const MutablePlane& states) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = HWY_LANES(float);
  HWY_ALIGN float buffer[ssd::kTileTokens * kLanes];
  for_each_vector(segment, [&](int64_t p, int64_t column, int64_t lanes) HWY_ATTR {
    for (int64_t n = 0; n < dstate; n += ssd::kTileTokens) {
      const int64_t count = std::min(ssd::kTileTokens, dstate - n);
      for (int64_t i = 0; i < count; ++i)
        hn::Store(hn::Mul(hn::Set(d, scale), hn::LoadU(d, h + (n + i) * row + column)), d,
                  buffer + i * kLanes);
      store_tile(d, {buffer, kLanes}, buffer, states, n, count, p, lanes);
    }
  });
}

// D of a segment, if there is any.
inline void load_D(const ConstTensorView& D, const ssd::HeadSegment& segment, float* to) {
  for (int64_t i = 0; D.present() && i < segment.channels; ++i)
    to[i] = D.as<float>()[segment.head * D.stride[0] +
                          (D.rank == 2 ? (segment.p + i) * D.stride[1] : 0)];
}

// (tokens, kRow) each, for what is no row of floats in memory.
struct RowBuffers {
  float *x, *y, *z;
};

// y = (scale * sums + D * x) * SiLU(z). Rows of sums are kRow apart; y may be the memory of x or z.
inline void skip_and_gate(const SsdChunkScan::Args& args, const Sequence& sequence,
                          const ssd::HeadSegment& segment, int64_t t, int64_t tokens,
                          const float* sums, const float* scale, const float* D,
                          const RowBuffers& buffers) {
  const hn::ScalableTag<float> d;
  const auto rows_of = [&](const ConstTensorView& v, float* buffer) HWY_ATTR {
    return segment_rows(ssd::head_plane(v, sequence, t, segment.head), tokens, segment.p,
                        segment.channels, buffer);
  };
  const Rows x = args.D.present() ? rows_of(args.x, buffers.x) : Rows{};
  const Rows z = rows_of(args.z, buffers.z);
  const MutablePlane y = ssd::head_plane(args.y, sequence, t, segment.head);
  const MutableRows to = is_float_row(y)
                             ? MutableRows{static_cast<float*>(y.data) + segment.p, y.token_stride}
                             : MutableRows{buffers.y, ssd::kRow};
  for (int64_t i = 0; i < tokens; ++i) {
    const auto factor = hn::Set(d, scale[i]);
    const float* sum = sums + i * ssd::kRow;
    for_each_vector_of_row(segment.channels, [&](int64_t c, auto load, auto store) HWY_ATTR {
      auto v = hn::Mul(factor, hn::LoadU(d, sum + c));
      if (x.data != nullptr)
        v = hn::MulAdd(hn::LoadU(d, D + c), load(x.data + i * x.stride + c), v);
      if (z.data != nullptr) v = hn::Mul(v, silu(d, load(z.data + i * z.stride + c)));
      store(v, to.data + i * to.stride + c);
    });
  }
  if (to.data == buffers.y) store_segment(buffers.y, y, tokens, segment.p, segment.channels);
}

}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HISS_ISA

#endif  // HISS_CPU_SSD_STEPS_INL_H
