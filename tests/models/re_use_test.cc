// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/re_use.h"

#include <gmock/gmock.h>

#include <random>

#include "models/plain_re_use.h"
#include "models/random_checkpoint.h"
#include "models/support.h"
#include "support/temporary_folder.h"

// The network as a whole: against a plain one in double, and the laws it must keep.
namespace hiss::models {
namespace {

struct Features {
  int64_t batch, frames, bins;
  std::vector<float> log_magnitude, phase;

  static Features random(int64_t batch, int64_t frames, int64_t bins, unsigned seed = 1) {
    Features f{batch, frames, bins, {}, {}};
    std::mt19937 engine(seed);
    std::uniform_real_distribution<float> uniform(0, 1);
    for (int64_t i = 0; i < batch * frames * bins; ++i) {
      f.log_magnitude.push_back(2 * uniform(engine));
      f.phase.push_back(6.28f * uniform(engine) - 3.14f);
    }
    return f;
  }
  // Items [first, first + count).
  Features items(int64_t first, int64_t count) const {
    const auto cut = [&](const std::vector<float>& v) {
      const int64_t n = frames * bins;
      return std::vector<float>(v.begin() + first * n, v.begin() + (first + count) * n);
    };
    return {count, frames, bins, cut(log_magnitude), cut(phase)};
  }
  Status run(ReUse& model, Activations* dump = nullptr) {
    return model.run({batch, frames, bins, log_magnitude.data(), phase.data()}, dump);
  }
  bool operator==(const Features&) const = default;
};

LoadedModel tiny(int threads = 1) {
  return load_model(golden("reuse_tiny_weights.safetensors"), threads);
}

struct Case {
  const char* name;
  ReUseConfig config;
  int64_t frames, bins;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
ReUseConfig small() {
  ReUseConfig c;
  c.blocks = 1, c.channels = 8, c.expand = 2, c.d_state = 4, c.dt_rank = 1;
  return c;
}
template <class Change>
Case changed(const char* name, Change change) {
  Case c{name, small(), 9, 13};
  change(c);
  return c;
}

class AgainstThePlainNetwork : public testing::TestWithParam<Case> {};
TEST_P(AgainstThePlainNetwork, TheComplexSpectrumIsWithin1e5RelativeRms) {
  const Case& c = GetParam();
  const testing_support::TemporaryFolder folder;
  const Status written = re_use::write_random_checkpoint(folder / "m.safetensors", c.config);
  ASSERT_TRUE(written.ok()) << written.to_string();
  const LoadedModel loaded = load_model(folder / "m.safetensors");
  ASSERT_NE(loaded.model, nullptr);
  Features features = Features::random(1, c.frames, c.bins);
  std::vector<double> log_magnitude(features.log_magnitude.begin(), features.log_magnitude.end());
  std::vector<double> phase(features.phase.begin(), features.phase.end());
  const Status run = features.run(*loaded.model);
  ASSERT_TRUE(run.ok()) << run.to_string();
  plain_re_use(Checkpoint::read(folder / "m.safetensors"), c.config, c.frames, c.bins,
               log_magnitude, phase);
  EXPECT_LT(relative_rms(features.log_magnitude,
                         std::vector<float>(log_magnitude.begin(), log_magnitude.end())),
            1e-5);
  EXPECT_LT(relative_rms(spectrum(features.log_magnitude, features.phase),
                         spectrum({log_magnitude.begin(), log_magnitude.end()},
                                  {phase.begin(), phase.end()})),
            1e-5);
}
INSTANTIATE_TEST_SUITE_P(
    Cases, AgainstThePlainNetwork,
    testing::Values(changed("base", [](Case&) {}),
                    changed("one_frame", [](Case& c) { c.frames = 1; }),
                    changed("two_frames", [](Case& c) { c.frames = 2; }),
                    changed("three_frames", [](Case& c) { c.frames = 3; }),
                    changed("six_frames", [](Case& c) { c.frames = 6; }),
                    changed("eight_frames", [](Case& c) { c.frames = 8; }),
                    changed("one_bin", [](Case& c) { c.bins = 1; }),
                    changed("two_bins", [](Case& c) { c.bins = 2; }),
                    changed("even_bins", [](Case& c) { c.bins = 14; }),
                    changed("two_blocks", [](Case& c) { c.config.blocks = 2; }),
                    changed("seven_channels", [](Case& c) { c.config.channels = 7; }),
                    changed("expand_3", [](Case& c) { c.config.expand = 3; }),
                    changed("d_state_5", [](Case& c) { c.config.d_state = 5; }),
                    changed("d_conv_1", [](Case& c) { c.config.d_conv = 1; }),
                    changed("d_conv_3", [](Case& c) { c.config.d_conv = 3; }),
                    changed("dt_rank_2",
                            [](Case& c) { c.config.channels = 17, c.config.dt_rank = 2; }),
                    // Sequences longer than one run of tokens: 97 and 96.
                    changed("two_runs",
                            [](Case& c) {
                              c.config.channels = 64, c.config.dt_rank = 4, c.config.d_state = 16;
                              c.config.expand = 4, c.frames = 2, c.bins = 386;
                            })),
    [](const auto& c) { return c.param.name; });

TEST(ReUse, BatchOfTwoIsTwoRunsOfOneToTheBit) {
  const LoadedModel loaded = tiny();
  Features both = Features::random(2, 11, 20);
  Features first = both.items(0, 1), second = both.items(1, 1);
  ASSERT_TRUE(both.run(*loaded.model).ok());
  ASSERT_TRUE(second.run(*loaded.model).ok());
  ASSERT_TRUE(first.run(*loaded.model).ok());
  EXPECT_EQ(both.items(0, 1), first);
  EXPECT_EQ(both.items(1, 1), second);
  EXPECT_NE(first.log_magnitude, second.log_magnitude);
}

TEST(ReUse, AnyNumberOfThreadsGivesTheSameBits) {
  Features want = Features::random(1, 19, 40);
  const Features input = want;
  ASSERT_TRUE(want.run(*tiny(1).model).ok());
  for (const int threads : {2, 3, 7}) {
    Features got = input;
    ASSERT_TRUE(got.run(*tiny(threads).model).ok());
    EXPECT_EQ(got, want) << threads << " threads";
  }
}

TEST(ReUse, ShapesDoNotRememberOneAnother) {
  const LoadedModel loaded = tiny();
  const Features input = Features::random(1, 7, 12);
  Features want = input;
  ASSERT_TRUE(want.run(*loaded.model).ok());
  for (const auto& [frames, bins] : {std::pair{30, 12}, {7, 20}, {3, 40}, {1, 1}}) {
    Features other = Features::random(1, frames, bins), fresh = other;
    ASSERT_TRUE(other.run(*loaded.model).ok());
    ASSERT_TRUE(fresh.run(*tiny().model).ok());
    EXPECT_EQ(other, fresh) << frames << " x " << bins;
    Features again = input;
    ASSERT_TRUE(again.run(*loaded.model).ok());
    EXPECT_EQ(again, want) << frames << " x " << bins;
  }
}

TEST(ReUse, DumpIsOfTheFirstItemAndChangesNothing) {
  const LoadedModel loaded = tiny();
  Features both = Features::random(2, 5, 8), first = both.items(0, 1), plain = both;
  Activations of_both, of_first;
  ASSERT_TRUE(both.run(*loaded.model, &of_both).ok());
  ASSERT_TRUE(first.run(*loaded.model, &of_first).ok());
  ASSERT_TRUE(plain.run(*loaded.model).ok());
  EXPECT_EQ(both, plain);
  ASSERT_EQ(of_both.tensors.size(), 3u);
  for (const char* name : {"encoder_out", "block_0_out", "block_1_out"}) {
    EXPECT_EQ(of_both.tensors[name].values, of_first.tensors[name].values) << name;
    EXPECT_EQ(of_both.tensors[name].shape, (std::vector<int64_t>{16, 2, 4})) << name;
  }
}

TEST(ReUse, NothingInNothingOut) {
  const LoadedModel loaded = tiny();
  EXPECT_TRUE(loaded.model->run({0, 5, 5, nullptr, nullptr}, nullptr).ok());
  EXPECT_TRUE(loaded.model->run({1, 0, 5, nullptr, nullptr}, nullptr).ok());
}

TEST(ReUse, SpectraThatCannotBeAreRefused) {
  const LoadedModel loaded = tiny();
  std::vector<float> x(4);
  for (const SpectrumBatch bad :
       {SpectrumBatch{-1, 2, 2, x.data(), x.data()}, SpectrumBatch{1, -2, 2, x.data(), x.data()},
        SpectrumBatch{1, 2, 2, nullptr, x.data()}, SpectrumBatch{1, 2, 2, x.data(), nullptr}})
    EXPECT_EQ(loaded.model->run(bad, nullptr).code(), StatusCode::kInvalidArgument);
}

TEST(ReUse, TooLargeAWindowIsOutOfMemoryAndHarmless) {
  const LoadedModel loaded = tiny();
  std::vector<float> x(4);
  for (const int bits : {18, 28, 62}) {
    const int64_t frames = int64_t{1} << bits, bins = int64_t{1} << std::min(bits, 32);
    const Status status = loaded.model->run({1, frames, bins, x.data(), x.data()}, nullptr);
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.to_string();
  }
  Features small = Features::random(1, 3, 4);
  EXPECT_TRUE(small.run(*loaded.model).ok()) << "it still works afterwards";
}

TEST(ReUse, StrictAndStandardAreBothServed) {
  Result<Context> context = Context::create({.threads = 1});
  ASSERT_TRUE(context);
  const auto strict =
      ReUse::load(golden("reuse_tiny_weights.safetensors"), *context, Precision::kStrict);
  ASSERT_TRUE(strict) << strict.error().to_string();
  Features a = Features::random(1, 9, 9), b = a;
  ASSERT_TRUE(a.run(**strict).ok());
  ASSERT_TRUE(b.run(*tiny().model).ok());
  EXPECT_LT(relative_rms(a.log_magnitude, b.log_magnitude), 1e-5);
}

TEST(ReUse, FastMultipliesInBf16WhereTheCpuDoesAndSaysSo) {
  Result<Context> context = Context::create({.threads = 1});
  ASSERT_TRUE(context);
  const auto product = [&](Machine machine, Precision precision) -> std::string {
    context->pretend(machine);
    const auto model = ReUse::load(golden("reuse_tiny_weights.safetensors"), *context, precision);
    EXPECT_TRUE(model) << model.error().to_string();
    for (const std::string& name : (*model)->kernels())
      if (name.starts_with("matrix_product/")) return name;
    return {};
  };
  Machine machine = this_machine();
  machine.avx512_bf16 = false;
  EXPECT_EQ(product(machine, Precision::kFast), "matrix_product/onednn.f32");
  if (!this_machine().avx512_bf16) GTEST_SKIP() << "this CPU does not multiply bf16";
  EXPECT_EQ(product(this_machine(), Precision::kFast), "matrix_product/onednn.bf16");
  EXPECT_EQ(product(this_machine(), Precision::kStandard), "matrix_product/onednn.f32");
}

}  // namespace
}  // namespace hiss::models
