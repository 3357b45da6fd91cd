// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cpu/simd/row_math.h"
#include "models/nn/carver.h"
#include "models/nn/conv2d.h"
#include "models/nn/matrix.h"
#include "models/nn/norm.h"
#include "models/nn/packed_product.h"
#include "models/nn/tasks.h"
#include "models/nn/winograd.h"

// The building blocks against their formulas in double.
namespace hiss::models {
namespace {

std::vector<float> random_values(int64_t n, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = normal(engine);
  return v;
}

TEST(MatrixProduct, ReplacesOrAddsWithinItsStridesOnly) {
  for (const auto& [m, k, n] : {std::tuple{1, 1, 1}, {5, 3, 2}, {64, 16, 33}, {161, 64, 7}}) {
    const int64_t lda = k + 3, ldb = n + 1, ldc = n + 2;
    const auto a = random_values(m * lda, 1), b = random_values(k * ldb, 2);
    const auto before = random_values(m * ldc, 3);
    for (const Write write : {Write::kReplace, Write::kAdd}) {
      auto c = before;
      ASSERT_TRUE(
          matrix_product({a.data(), m, k, lda}, {b.data(), k, n, ldb}, {c.data(), m, n, ldc}, write)
              .ok());
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < ldc; ++j) {
          const size_t at = static_cast<size_t>(i * ldc + j);
          double want = write == Write::kAdd || j >= n ? before[at] : 0;
          for (int64_t l = 0; j < n && l < k; ++l)
            want +=
                double{a[static_cast<size_t>(i * lda + l)]} * b[static_cast<size_t>(l * ldb + j)];
          ASSERT_NEAR(c[at], want, 1e-4) << i << ", " << j;
        }
    }
  }
}

TEST(PackedProduct, ReplacesOrAddsAndFillsUpWithZeroColumns) {
  for (const auto& [m, k, n, cols] : {std::tuple{1, 1, 1, 1},
                                      {5, 3, 2, 16},
                                      {48, 64, 33, 48},
                                      {11, 256, 36, 48},
                                      {161, 64, 64, 64}}) {
    const auto a = random_values(m * k, 1), b = random_values(k * n, 2);
    const auto before = random_values(m * cols, 3);
    const auto weight = PackedWeight::create({b.data(), k, n, n}, cols, Operands::kF32);
    ASSERT_TRUE(weight) << weight.error().to_string();
    for (const Write write : {Write::kReplace, Write::kAdd}) {
      const auto product = PackedProduct::create(m, *weight, write);
      ASSERT_TRUE(product) << product.error().to_string();
      auto c = before;
      ASSERT_TRUE(product->run(a.data(), *weight, c.data()).ok());
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < cols; ++j) {
          const size_t at = static_cast<size_t>(i * cols + j);
          double want = write == Write::kAdd ? before[at] : 0;
          for (int64_t l = 0; j < n && l < k; ++l)
            want += double{a[static_cast<size_t>(i * k + l)]} * b[static_cast<size_t>(l * n + j)];
          ASSERT_NEAR(c[at], want, 1e-4) << i << ", " << j;
        }
    }
  }
}

TEST(PackedProduct, OperandsAreBf16ForFastOnCpusThatHaveItOnly) {
  Machine with, without;
  with.avx512_bf16 = true;
  EXPECT_EQ(operands_for(Precision::kFast, with), Operands::kBF16);
  EXPECT_EQ(operands_for(Precision::kFast, without), Operands::kF32);
  EXPECT_EQ(operands_for(Precision::kStandard, with), Operands::kF32);
  EXPECT_EQ(operands_for(Precision::kStrict, with), Operands::kF32);
}

struct ConvCase {
  const char* name;
  Conv2d conv;
  int64_t rows, cols;
};
std::ostream& operator<<(std::ostream& out, const ConvCase& c) { return out << c.name; }
class Conv2dTest : public testing::TestWithParam<ConvCase> {};
TEST_P(Conv2dTest, EveryRowIsTheDefinition) {
  ConvCase c = GetParam();
  const Conv2d& v = c.conv;
  const int64_t ins = v.in_channels, outs = v.out_channels, stride = ins + 2;
  auto in = random_values(c.rows * c.cols * stride, 1);
  const auto weight = random_values(v.kernel_rows * v.kernel_cols * ins * outs, 2);
  const auto bias = random_values(outs, 3);
  c.conv.weight = weight.data();
  c.conv.bias = bias.data();
  const Map map{in.data(), c.rows, c.cols, ins, stride};
  const int64_t first = outs / 3, count = outs - first, cols = v.out_cols(c.cols);
  for (int64_t h = 0; h < v.out_rows(c.rows); ++h) {
    std::vector<float> out(static_cast<size_t>(cols * (count + 1)), 77.0f);
    ASSERT_TRUE(conv2d_row(v, map, h, first, count, out.data(), count + 1).ok());
    for (int64_t w = 0; w < cols; ++w) {
      ASSERT_EQ(out[static_cast<size_t>(w * (count + 1) + count)], 77.0f) << "between columns";
      for (int64_t o = 0; o < count; ++o) {
        double want = bias[static_cast<size_t>(first + o)];
        for (int64_t i = 0; i < v.kernel_rows; ++i)
          for (int64_t j = 0; j < v.kernel_cols; ++j) {
            const int64_t y = h * v.stride_rows + i * v.dilation_rows - v.pad_rows;
            const int64_t x = w * v.stride_cols + j - v.pad_cols;
            if (y < 0 || x < 0 || y >= c.rows || x >= c.cols) continue;
            for (int64_t l = 0; l < ins; ++l)
              want += double{weight[static_cast<size_t>(((i * v.kernel_cols + j) * ins + l) * outs +
                                                        first + o)]} *
                      map.row(y)[x * stride + l];
          }
        ASSERT_NEAR(out[static_cast<size_t>(w * (count + 1) + o)], want, 1e-4)
            << h << ", " << w << ", " << o;
      }
    }
  }
}
constexpr Conv2d kBase{.in_channels = 5, .out_channels = 6};
template <class Change>
ConvCase conv_case(const char* name, int64_t rows, int64_t cols, Change change) {
  ConvCase c{name, kBase, rows, cols};
  change(c.conv);
  return c;
}
void same_3x3(Conv2d& c) {
  c.kernel_rows = c.kernel_cols = 3;
  c.pad_rows = c.pad_cols = 1;
}
INSTANTIATE_TEST_SUITE_P(Cases, Conv2dTest,
                         testing::Values(conv_case("one_by_one", 3, 4, [](Conv2d&) {}),
                                         conv_case("same", 4, 7, same_3x3),
                                         conv_case("dilated", 9, 5,
                                                   [](Conv2d& c) {
                                                     same_3x3(c);
                                                     c.pad_rows = c.dilation_rows = 4;
                                                   }),
                                         conv_case("dilated_beyond_the_map", 3, 5,
                                                   [](Conv2d& c) {
                                                     same_3x3(c);
                                                     c.pad_rows = c.dilation_rows = 8;
                                                   }),
                                         conv_case("one_column", 4, 1, same_3x3),
                                         conv_case("strided", 9, 8,
                                                   [](Conv2d& c) {
                                                     c.kernel_cols = 3;
                                                     c.stride_rows = 4, c.stride_cols = 2;
                                                   }),
                                         conv_case("along_rows", 5, 4,
                                                   [](Conv2d& c) {
                                                     c.kernel_rows = 3, c.pad_rows = 1;
                                                   })),
                         [](const auto& c) { return c.param.name; });

// In any order, and each after the one a dilation before; dilations beyond the map.
TEST(Winograd, RowsAreThoseOfTheConvolutionOfTheNormalisedMap) {
  for (const auto& [rows, cols, ins, outs, kernel_rows, dilation] : {std::tuple{4, 1, 5, 6, 3, 1},
                                                                     {9, 7, 16, 16, 3, 4},
                                                                     {3, 323, 33, 8, 3, 8},
                                                                     {2, 390, 4, 5, 3, 1},
                                                                     {2, 770, 3, 2, 1, 1}}) {
    const int64_t stride = ins + 2;
    const auto x = random_values(rows * cols * stride, 1);
    const auto weight = random_values(kernel_rows * 3 * ins * outs, 2),
               bias = random_values(outs, 3);
    const std::vector<float> mean = random_values(ins, 4), scale = random_values(ins, 5);
    const std::vector<float> shift = random_values(ins, 6), slope = random_values(ins, 7);
    const cpu::NormPrelu norm{mean.data(), scale.data(), shift.data(), slope.data()};
    const Conv2d conv{.weight = weight.data(),
                      .bias = bias.data(),
                      .in_channels = ins,
                      .out_channels = outs,
                      .kernel_rows = kernel_rows,
                      .kernel_cols = 3,
                      .dilation_rows = dilation,
                      .pad_rows = kernel_rows / 2 * dilation,
                      .pad_cols = 1};
    const auto packed = WinogradWeight::create(conv);
    ASSERT_TRUE(packed) << packed.error().to_string();
    const auto plan = WinogradPlan::create(cols, *packed);
    ASSERT_TRUE(plan) << plan.error().to_string();
    Carver sizes;
    WinogradScratch::carve(sizes, cols, kernel_rows, ins, outs);
    std::vector<std::byte> memory(sizes.bytes() + 64);
    Carver carver(memory.data());
    const auto scratch = WinogradScratch::carve(carver, cols, kernel_rows, ins, outs);

    auto raw = x, normalised = x;
    cpu::row_math().norm_prelu(norm, {normalised.data(), rows * cols, ins, stride});
    const Map map{raw.data(), rows, cols, ins, stride};
    const Map plain{normalised.data(), rows, cols, ins, stride};
    std::vector<float> got(static_cast<size_t>(cols * (outs + 1)), 77.0f), want = got;
    const auto compare = [&](int64_t h, bool follows) {
      ASSERT_TRUE(plan->run_row(conv, *packed, map, norm, h, follows, scratch, got.data(),
                                conv.out_channels + 1)
                      .ok());
      ASSERT_TRUE(
          conv2d_row(conv, plain, h, 0, conv.out_channels, want.data(), conv.out_channels + 1)
              .ok());
      for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 4e-4) << h << ", " << i;
    };
    for (int64_t h = 0; h < rows; ++h) compare(h, false);
    for (int64_t phase = 0; phase < std::min<int64_t>(dilation, rows); ++phase)
      for (int64_t h = phase; h < rows; h += dilation) compare(h, h != phase);
    EXPECT_EQ(raw, x) << "the map is only read";
  }
}

TEST(InstanceNormPrelu, IsTheDefinition) {
  const int64_t rows = 6, cols = 5, channels = 3, stride = 4;
  auto x = random_values(rows * cols * stride);
  for (float& v : x) v = 3 * v + 100;  // a mean far from zero must not cost digits
  const auto weight = random_values(channels, 2), bias = random_values(channels, 3);
  const std::vector<float> slope = {0.25f, -0.5f, 0};
  std::vector<double> sums(static_cast<size_t>(rows * 2 * channels));
  for (int64_t r = 0; r < rows; ++r)
    cpu::row_math().channel_sums({x.data() + r * cols * stride, cols, channels, stride},
                                 &sums[static_cast<size_t>(r * 2 * channels)]);
  std::vector<float> mean(channels), scale(channels), y = x;
  finish_statistics(sums.data(), rows, channels, rows * cols, weight.data(), 1e-5, mean.data(),
                    scale.data());
  cpu::row_math().norm_prelu({mean.data(), scale.data(), bias.data(), slope.data()},
                             {y.data(), rows * cols, channels, stride});
  const int64_t n = rows * cols;
  for (int64_t c = 0; c < channels; ++c) {
    const size_t k = static_cast<size_t>(c);
    double m = 0, variance = 0;
    const auto at = [&](int64_t i) { return double{x[static_cast<size_t>(i * stride + c)]}; };
    for (int64_t i = 0; i < n; ++i) m += at(i) / n;
    for (int64_t i = 0; i < n; ++i) variance += (at(i) - m) * (at(i) - m) / n;
    for (int64_t i = 0; i < n; ++i) {
      double want = (at(i) - m) / std::sqrt(variance + 1e-5) * weight[k] + bias[k];
      if (want < 0) want *= slope[k];
      EXPECT_NEAR(y[static_cast<size_t>(i * stride + c)], want, 2e-5);
    }
  }
  EXPECT_EQ(y[3], x[3]) << "between columns";
}

TEST(InstanceNormPrelu, OfAConstantIsTheBias) {
  const std::vector<float> x(8, 3.0f), weight = {2}, bias = {-4};
  std::vector<double> sums(2);
  cpu::row_math().channel_sums({x.data(), 8, 1, 1}, sums.data());
  float mean, scale, y = x[0];
  finish_statistics(sums.data(), 1, 1, 8, weight.data(), 1e-5, &mean, &scale);
  const float slope = 0.5f;
  cpu::row_math().norm_prelu({&mean, &scale, bias.data(), &slope}, {&y, 1, 1, 1});
  EXPECT_EQ(y, -2);
}

TEST(RunTasks, GivesTheErrorOfTheFirstTaskByIndex) {
  const auto pool = make_thread_pool(3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Status status = run_tasks(*pool, 50, [](int64_t i, int) {
      return i % 10 == 7 ? Internal(std::to_string(i)) : Status();
    });
    EXPECT_EQ(status.message(), "7");
  }
  EXPECT_TRUE(run_tasks(*pool, 50, [](int64_t, int) { return Status(); }).ok());
}

TEST(Carver, AddsUpWhatItHandsOut) {
  const auto lay_out = [](Carver& c) {
    c.take<float>(3);
    const Map map = c.map(2, 3, 5);
    c.take<std::byte>(1);
    return map;
  };
  Carver counting;
  EXPECT_EQ(lay_out(counting).data, nullptr);
  alignas(64) std::byte memory[512];
  Carver cutting(memory);
  const Map map = lay_out(cutting);
  EXPECT_EQ(cutting.bytes(), counting.bytes());
  EXPECT_EQ(reinterpret_cast<std::byte*>(map.data), memory + 64);
  EXPECT_EQ(counting.bytes(), 64u + 128u + 64u);
}

}  // namespace
}  // namespace hiss::models
