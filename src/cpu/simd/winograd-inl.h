// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Norms, activation and Winograd transforms of rows, a vector of channels at a time. Unlike its
// neighbours it is also compiled for the baseline, where a vector is one float.

#if defined(HISS_CPU_SIMD_WINOGRAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HISS_CPU_SIMD_WINOGRAD_INL_H
#undef HISS_CPU_SIMD_WINOGRAD_INL_H
#else
#define HISS_CPU_SIMD_WINOGRAD_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/simd/row_math.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hiss::cpu::HWY_NAMESPACE {
namespace row {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
inline constexpr int64_t kLanes = HWY_LANES(float);

// A vector of channels from and to memory, the last one of a row with fewer than kLanes.
HWY_INLINE V load(const float* p, int64_t lanes) {
  const Tag d;
  if (lanes == kLanes) return hn::LoadU(d, p);
  float buffer[kLanes] = {};
  std::memcpy(buffer, p, static_cast<size_t>(lanes) * sizeof(float));
  return hn::LoadU(d, buffer);
}
HWY_INLINE void store(V v, float* p, int64_t lanes) {
  const Tag d;
  if (lanes == kLanes) return hn::StoreU(v, d, p);
  float buffer[kLanes];
  hn::StoreU(v, d, buffer);
  std::memcpy(p, buffer, static_cast<size_t>(lanes) * sizeof(float));
}

// Calls f(channel, lanes) for each vector of channels.
template <class F>
HWY_INLINE void for_each_vector(int64_t channels, F&& f) {
  for (int64_t c = 0; c < channels; c += kLanes) f(c, std::min(kLanes, channels - c));
}

// NormPrelu of one vector of channels.
struct Activation {
  V mean, scale, bias, slope;
  Activation(const NormPrelu& f, int64_t c, int64_t lanes)
      : mean(load(f.mean + c, lanes)),
        scale(load(f.scale + c, lanes)),
        bias(load(f.bias + c, lanes)),
        slope(load(f.slope + c, lanes)) {}
  HWY_INLINE V operator()(V x) const {
    const V v = hn::MulAdd(hn::Sub(x, mean), scale, bias);
    return hn::IfThenElse(hn::Lt(v, hn::Zero(Tag())), hn::Mul(slope, v), v);
  }
};

inline void norm_prelu(const NormPrelu& f, const MutableRow& x) {
  for_each_vector(x.channels, [&](int64_t c, int64_t lanes) HWY_ATTR {
    const Activation act(f, c, lanes);
    for (int64_t w = 0; w < x.cols; ++w) {
      float* p = x.data + w * x.stride + c;
      store(act(load(p, lanes)), p, lanes);
    }
  });
}

inline void layer_norm_residual(const LayerNorm& f, const MutableRow& x, const Row& residual,
                                const MutableRow& y) {
  const Tag d;
  const float n = static_cast<float>(x.channels);
  for (int64_t t = 0; t < x.cols; ++t) {
    float* v = x.data + t * x.stride;
    V sum = hn::Zero(d), squares = sum;
    for_each_vector(x.channels, [&](int64_t c, int64_t lanes) HWY_ATTR {
      const V value = hn::Add(load(v + c, lanes), load(f.linear_bias + c, lanes));
      store(value, v + c, lanes);
      sum = hn::Add(sum, value);  // lanes beyond the row hold zeros
    });
    const V mean = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, sum)) / n);
    for_each_vector(x.channels, [&](int64_t c, int64_t lanes) HWY_ATTR {
      const V value = hn::Sub(load(v + c, lanes), mean);
      store(value, v + c, lanes);
      const V kept = lanes == kLanes ? value : load(v + c, lanes);
      squares = hn::MulAdd(kept, kept, squares);
    });
    const float variance = hn::GetLane(hn::SumOfLanes(d, squares)) / n;
    const V scale = hn::Set(d, 1 / std::sqrt(variance + f.epsilon));
    for_each_vector(x.channels, [&](int64_t c, int64_t lanes) HWY_ATTR {
      const V value = hn::MulAdd(hn::Mul(load(v + c, lanes), scale), load(f.weight + c, lanes),
                                 load(f.bias + c, lanes));
      store(hn::Add(value, load(residual.data + t * residual.stride + c, lanes)),
            y.data + t * y.stride + c, lanes);
    });
  }
}

inline void winograd_input(const Row& x, const NormPrelu& f, const MutableTiles& tiles) {
  const Tag d;
  const V two = hn::Set(d, 2.0f), four = hn::Set(d, 4.0f), five = hn::Set(d, 5.0f);
  for_each_vector(x.channels, [&](int64_t c, int64_t lanes) HWY_ATTR {
    const Activation act(f, c, lanes);
    const auto column = [&](int64_t w) HWY_ATTR {
      if (w >= x.cols) return hn::Zero(d);
      return act(load(x.data + w * x.stride + c, lanes));
    };
    V x0 = hn::Zero(d), x1 = column(0);
    for (int64_t t = 0; t < tiles.count; ++t) {
      const int64_t w = t * kTileOutputs;
      const V x2 = column(w + 1), x3 = column(w + 2), x4 = column(w + 3), x5 = column(w + 4);
      float* p = tiles.data + t * tiles.tile_stride + c;
      const auto put = [&](int64_t point, V v)
                           HWY_ATTR { store(v, p + point * tiles.point_stride, lanes); };
      put(0, hn::MulAdd(four, x0, hn::NegMulAdd(five, x2, x4)));
      const V even = hn::NegMulAdd(four, x2, x4), odd = hn::NegMulAdd(four, x1, x3);
      put(1, hn::Add(even, odd));
      put(2, hn::Sub(even, odd));
      const V even2 = hn::Sub(x4, x2), odd2 = hn::Mul(two, hn::Sub(x3, x1));
      put(3, hn::Add(even2, odd2));
      put(4, hn::Sub(even2, odd2));
      put(5, hn::MulAdd(four, x1, hn::NegMulAdd(five, x3, x5)));
      x0 = x4;
      x1 = x5;
    }
  });
}

inline void winograd_output(const Tiles& tiles, const float* bias, const MutableRow& y) {
  const Tag d;
  const V two = hn::Set(d, 2.0f), four = hn::Set(d, 4.0f), eight = hn::Set(d, 8.0f);
  for_each_vector(y.channels, [&](int64_t c, int64_t lanes) HWY_ATTR {
    const V b = load(bias + c, lanes);
    for (int64_t t = 0; t < tiles.count; ++t) {
      const float* p = tiles.data + t * tiles.tile_stride + c;
      const auto point = [&](int64_t i)
                             HWY_ATTR { return load(p + i * tiles.point_stride, lanes); };
      const V m1 = point(1), m2 = point(2), m3 = point(3), m4 = point(4);
      const V sum = hn::Add(m1, m2), difference = hn::Add(hn::Sub(m1, m2), b);
      const V sum2 = hn::Add(m3, m4), difference2 = hn::Sub(m3, m4);
      const int64_t w = t * kTileOutputs;
      const auto put = [&](int64_t i, V v) HWY_ATTR {
        if (w + i < y.cols) store(v, y.data + (w + i) * y.stride + c, lanes);
      };
      put(0, hn::Add(hn::Add(point(0), b), hn::Add(sum, sum2)));
      put(1, hn::MulAdd(two, difference2, difference));
      put(2, hn::MulAdd(four, sum2, hn::Add(sum, b)));
      put(3, hn::Add(hn::MulAdd(eight, difference2, difference), point(5)));
    }
  });
}

}  // namespace row
}  // namespace hiss::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HISS_CPU_SIMD_WINOGRAD_INL_H
