// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The row functions on every instruction set this machine has, against their formulas in double.

#include "cpu/simd/row_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "core/float16.h"

namespace hiss::cpu {
namespace {

std::vector<float> random_values(int64_t n, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = normal(engine);
  return v;
}

class RowMathTest : public testing::TestWithParam<const RowMath*> {};

TEST_P(RowMathTest, ToBf16RoundsToNearestEvenAndKeepsNan) {
  auto x = random_values(35);
  x[3] = 1.0f + 0x1p-8f, x[4] = 1.0f + 0x3p-8f;  // ties
  x[5] = std::nanf(""), x[6] = INFINITY, x[7] = -0.0f, x[8] = 0x1p-149f;
  std::vector<uint16_t> result(x.size());
  GetParam()->to_bf16(x.data(), static_cast<int64_t>(x.size()), result.data());
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]))
      EXPECT_TRUE(std::isnan(float_from_bf16(result[i])));
    else
      EXPECT_EQ(result[i], bf16_from_float(x[i])) << i;
  }
}

// Rows with a gap between columns, of fewer channels than a vector, of some and of some and a rest.
struct Shape {
  int64_t cols, channels, stride;
};
constexpr Shape kShapes[] = {{1, 1, 1},    {2, 3, 5},   {3, 16, 16}, {4, 17, 20},
                             {5, 64, 256}, {9, 31, 33}, {13, 4, 4},  {22, 40, 41}};

TEST_P(RowMathTest, ChannelSumsAreExactToDouble) {
  for (const auto& [cols, channels, stride] : kShapes) {
    auto x = random_values(cols * stride);
    for (float& v : x) v += 1000;
    std::vector<double> sums(static_cast<size_t>(2 * channels));
    GetParam()->channel_sums({x.data(), cols, channels, stride}, sums.data());
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0, squares = 0;
      for (int64_t w = 0; w < cols; ++w) {
        const double v = x[static_cast<size_t>(w * stride + c)];
        sum += v, squares += v * v;
      }
      EXPECT_NEAR(sums[static_cast<size_t>(c)], sum, 1e-12 * sum);
      EXPECT_NEAR(sums[static_cast<size_t>(channels + c)], squares, 1e-12 * squares);
    }
  }
}

// Norm and activation of many channels, some of which leave the sign of a leak to chance.
struct Norm {
  explicit Norm(int64_t channels)
      : mean(random_values(channels, 2)),
        scale(random_values(channels, 3)),
        bias(random_values(channels, 4)),
        slope(random_values(channels, 5)) {}
  double operator()(float x, int64_t channel) const {
    const size_t c = static_cast<size_t>(channel);
    const double v = (double{x} - mean[c]) * scale[c] + bias[c];
    return v >= 0 ? v : slope[c] * v;
  }
  NormPrelu view() const { return {mean.data(), scale.data(), bias.data(), slope.data()}; }
  std::vector<float> mean, scale, bias, slope;
};

TEST_P(RowMathTest, NormPreluIsTheFormulaAndLeavesTheGapsAlone) {
  for (const auto& [cols, channels, stride] : kShapes) {
    const auto x = random_values(cols * stride);
    auto y = x;
    const Norm norm(channels);
    GetParam()->norm_prelu(norm.view(), {y.data(), cols, channels, stride});
    for (int64_t i = 0; i < cols * stride; ++i) {
      const size_t k = static_cast<size_t>(i);
      if (i % stride < channels)
        EXPECT_NEAR(y[k], norm(x[k], i % stride), 3e-6);
      else
        EXPECT_EQ(y[k], x[k]);
    }
  }
}

TEST_P(RowMathTest, NanStaysNanInItsColumn) {
  std::vector<float> x = random_values(4 * 16);
  x[2 * 16 + 5] = std::nanf("");
  GetParam()->norm_prelu(Norm(16).view(), {x.data(), 4, 16, 16});
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(std::isnan(x[i]), i == 2 * 16 + 5) << i;
}

TEST_P(RowMathTest, LayerNormIsTheFormulaWhereverTheTokensLie) {
  for (const auto& [tokens, d, stride] : kShapes) {
    auto x = random_values(tokens * d);
    const auto original = x, linear_bias = random_values(d, 2), weight = random_values(d, 3);
    const auto bias = random_values(d, 4), residual = random_values(tokens * stride, 5);
    std::vector<float> y = residual;  // may be the same memory
    GetParam()->layer_norm_residual({linear_bias.data(), weight.data(), bias.data(), 1e-3f},
                                    {x.data(), tokens, d, d}, {y.data(), tokens, d, stride},
                                    {y.data(), tokens, d, stride});
    for (int64_t t = 0; t < tokens; ++t) {
      std::vector<double> v;
      double mean = 0, variance = 0;
      for (int64_t c = 0; c < d; ++c)
        v.push_back(double{original[static_cast<size_t>(t * d + c)]} +
                    linear_bias[static_cast<size_t>(c)]);
      for (const double value : v) mean += value / static_cast<double>(d);
      for (const double value : v)
        variance += (value - mean) * (value - mean) / static_cast<double>(d);
      for (int64_t c = 0; c < stride; ++c) {
        const size_t at = static_cast<size_t>(t * stride + c), k = static_cast<size_t>(c);
        const double want =
            c < d ? (v[k] - mean) / std::sqrt(variance + 1e-3) * weight[k] + bias[k] + residual[at]
                  : residual[at];
        EXPECT_NEAR(y[at], want, 1e-5) << t << ", " << c;
      }
    }
  }
}

// A filter of three taps on each channel by itself.
void filter_by_tiles(const RowMath& math, const Row& x, const NormPrelu& f, const float (*taps)[3],
                     const float* bias, const MutableRow& y) {
  const int64_t n = tiles_of(x.cols), tile_stride = x.channels + 1;
  const int64_t point_stride = n * tile_stride + 3;
  std::vector<float> points(static_cast<size_t>(kTilePoints * point_stride));
  math.winograd_input(x, f, {points.data(), n, point_stride, tile_stride});
  for (int64_t p = 0; p < kTilePoints; ++p)
    for (int64_t t = 0; t < n; ++t)
      for (int64_t c = 0; c < x.channels; ++c) {
        float at_point = 0;
        for (int64_t j = 0; j < 3; ++j) at_point += kTileFilter[p][j] * taps[c][j];
        points[static_cast<size_t>(p * point_stride + t * tile_stride + c)] *= at_point;
      }
  math.winograd_output({points.data(), n, point_stride, tile_stride}, bias, y);
}

TEST_P(RowMathTest, WinogradIsTheFilterOfTheNormalisedRow) {
  for (const auto& [cols, channels, stride] : kShapes) {
    const auto x = random_values(cols * stride), bias = random_values(channels, 7);
    const auto taps = random_values(3 * channels, 6);
    auto y = random_values(cols * stride, 8);
    const auto before = y;
    const Norm norm(channels);
    filter_by_tiles(*GetParam(), {x.data(), cols, channels, stride}, norm.view(),
                    reinterpret_cast<const float(*)[3]>(taps.data()), bias.data(),
                    {y.data(), cols, channels, stride});
    for (int64_t i = 0; i < cols * stride; ++i) {
      const int64_t w = i / stride, c = i % stride;
      if (c >= channels) {
        EXPECT_EQ(y[static_cast<size_t>(i)], before[static_cast<size_t>(i)]) << "a gap";
        continue;
      }
      double want = bias[static_cast<size_t>(c)];
      for (int64_t j = 0; j < 3; ++j)
        if (w + j >= 1 && w + j <= cols)
          want += taps[static_cast<size_t>(3 * c + j)] *
                  norm(x[static_cast<size_t>((w + j - 1) * stride + c)], c);
      EXPECT_NEAR(y[static_cast<size_t>(i)], want, 2e-5) << cols << ": " << w << ", " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, RowMathTest, testing::ValuesIn(all_row_math(this_machine())),
                         [](const auto& math) { return std::string(math.param->isa); });

}  // namespace
}  // namespace hiss::cpu
