// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "measure.h"
#include "support/temporary_folder.h"

// Where a contender is installed, it computes what we do: every adapter's layouts, on small odd
// sizes with every option that the adapter takes over.
namespace hiss::bench {
namespace {

using testing::HasSubstr;

SelectiveScan::Args scan(Tensors& t) {
  SelectiveScan::Args a;
  a.u = t.normal({2, 7, 12}), a.z = t.normal({2, 7, 12}), a.y = t.normal({2, 7, 12});
  a.dt = t.normal({2, 7, 12}), a.dt_bias = t.normal({12}), a.D = t.normal({12});
  a.A = t.normal({12, 5}, -3, 0.3f), a.initial_state = t.normal({2, 12, 5});
  a.B = t.normal({2, 7, 3, 5}), a.C = t.normal({2, 7, 3, 5});
  a.dt_softplus = true;
  return a;
}

SsdChunkScan::Args ssd(Tensors& t) {
  SsdChunkScan::Args a;
  a.x = t.normal({2, 70, 6, 5}), a.z = t.normal({2, 70, 6, 5}), a.y = t.normal({2, 70, 6, 5});
  a.dt = t.normal({2, 70, 6}), a.dt_bias = t.normal({6}), a.D = t.normal({6});
  a.A = t.normal({6}, -3, 0.3f), a.initial_states = t.normal({2, 6, 5, 9});
  a.B = t.normal({2, 70, 2, 9}), a.C = t.normal({2, 70, 2, 9});
  a.dt_softplus = true;
  return a;
}

SelectiveStateUpdate::Args update(Tensors& t, bool tied) {
  SelectiveStateUpdate::Args a;
  a.x = t.normal({2, 2, 6, 5}), a.z = t.normal({2, 2, 6, 5}), a.y = t.normal({2, 2, 6, 5});
  a.D = t.normal({6, 5}), a.state = t.normal({2, 6, 5, 9});
  a.B = t.normal({2, 2, 3, 9}), a.C = t.normal({2, 2, 3, 9});
  a.dt_softplus = true;
  const TensorView dt = t.normal({2, 2, 6, 5}), bias = t.normal({6, 5});
  const TensorView A = t.normal({6, 5, 9}, -3, 0.3f);
  a.dt = dt, a.dt_bias = bias, a.A = A;
  if (tied) {
    a.dt = {dt.data, DType::kF32, {2, 2, 6, 5}, {12, 6, 1, 0}};
    a.dt_bias = {bias.data, DType::kF32, {6, 5}, {1, 0}};
    a.A = {A.data, DType::kF32, {6, 5, 9}, {1, 0, 0}};
  }
  return a;
}

CausalConv1d::Args conv(Tensors& t) {
  CausalConv1d::Args a;
  a.x = t.normal({2, 7, 12}), a.y = t.normal({2, 7, 12});
  a.weight = t.normal({12, 4}), a.bias = t.normal({12});
  a.activation = Activation::kSilu;
  return a;
}

CausalConv1dUpdate::Args conv_update(Tensors& t) {
  CausalConv1dUpdate::Args a;
  a.x = t.normal({2, 1, 12}), a.y = t.normal({2, 1, 12}), a.state = t.normal({2, 3, 12});
  a.weight = t.normal({12, 4}), a.bias = t.normal({12});
  return a;
}

void agree_on_everything(std::unique_ptr<Contender> contender) {
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(std::move(contender));
  const Peaks peaks{.multiply_adds = 1e9, .bf16_multiply_adds = 0, .exponentials = 1e8};
  Bench bench({.least = 1, .budget_ms = 0}, peaks, contenders);
  const auto expect = [](const Status& status) { EXPECT_TRUE(status.ok()) << status.to_string(); };
  expect(bench.measure(Shape<SelectiveScan>{"scan", scan}));
  expect(bench.measure(Shape<SsdChunkScan>{"ssd", ssd}));
  expect(bench.measure(
      Shape<SelectiveStateUpdate>{"mamba1", [](Tensors& t) { return update(t, false); }}));
  expect(bench.measure(
      Shape<SelectiveStateUpdate>{"mamba2", [](Tensors& t) { return update(t, true); }}));
  expect(bench.measure(Shape<CausalConv1d>{"conv", conv}));
  expect(bench.measure(Shape<CausalConv1dUpdate>{"conv_update", conv_update}));
  EXPECT_EQ(bench.rows().size(), 12u);
  for (const Row& row : bench.rows()) EXPECT_NE(row.peer, "") << row.op;
}

TEST(Contenders, GgmlComputesWhatWeDo) {
  auto ggml = open_ggml(HISS_SOURCE_DIR "/build/contenders");
  if (!ggml) GTEST_SKIP() << ggml.error().message();
  agree_on_everything(*std::move(ggml));
}

TEST(Contenders, PyTorchComputesWhatWeDo) {
  const testing_support::TemporaryFolder folder;
  if (std::system("/usr/bin/python3 -c 'import numpy, torch' 2>/dev/null") != 0)
    GTEST_SKIP() << "no python3-torch here";
  std::filesystem::create_symlink("/usr/bin/python3", folder.path() / "python");
  auto torch = open_torch(folder.path().string());
  ASSERT_TRUE(torch) << torch.error().to_string();
  agree_on_everything(*std::move(torch));
}

TEST(Contenders, OneThatIsNotHereSaysHowToGetIt) {
  for (const auto& open : {open_ggml, open_torch}) {
    const auto contender = open("/nowhere");
    ASSERT_FALSE(contender);
    EXPECT_EQ(contender.error().code(), StatusCode::kNotFound);
    EXPECT_THAT(contender.error().message(), HasSubstr("./run bench contenders"));
  }
}

TEST(Contenders, GgmlDeclinesWhatItCannotDo) {
  auto ggml = open_ggml(HISS_SOURCE_DIR "/build/contenders");
  if (!ggml) GTEST_SKIP() << ggml.error().message();
  Tensors t;
  SelectiveScan::Args a = scan(t);
  a.direction = Direction::kReverse;
  EXPECT_EQ((*ggml)->prepare(a, 1).error().code(), StatusCode::kUnsupported);
  a = scan(t);
  a.dt_softplus = false;
  EXPECT_EQ((*ggml)->prepare(a, 1).error().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace hiss::bench
