// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/checkpoint.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "core/float16.h"
#include "models/support.h"
#include "support/temporary_folder.h"

// What files ReUse::load takes, and with what words it refuses the others.
namespace hiss::models {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::TemporaryFolder;
using testing_support::write_file;

constexpr const char* kTiny = "reuse_tiny_weights.safetensors";
constexpr const char* kTinyConfig =
    R"({"model_cfg": {"num_tfmamba": 2, "hid_feature": 16, "d_state": 16, "d_conv": 4, "expand": 4,
         "norm_epsilon": 1e-5, "input_channel": 2, "output_channel": 1, "mapping": true,
         "compress_factor": "relu_log1p", "beta": 2.0, "inner_mamba_nlayer": 1},
        "stft_cfg": {"n_fft": 640, "hop_size": 80, "win_size": 640, "sampling_rate": 16000,
         "sfi": true}})";

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : tiny_(Checkpoint::read(golden(kTiny))) {}

  Status load(const std::string& path) {
    Result<Context> context = Context::create({.threads = 1});
    return ReUse::load(path, *context, Precision::kStandard).error();
  }
  Status load(const Checkpoint& checkpoint) {
    checkpoint.write(folder_ / "model.safetensors");
    return load(folder_ / "model.safetensors");
  }
  // What a small spectrum becomes.
  std::vector<float> output_of(const Checkpoint& checkpoint, DType dtype = DType::kF32) {
    checkpoint.write(folder_ / "model.safetensors", dtype);
    const LoadedModel loaded = load_model(folder_ / "model.safetensors", 1);
    std::vector<float> log_magnitude(6 * 9), phase(6 * 9);
    for (size_t i = 0; i < phase.size(); ++i) {
      log_magnitude[i] = 0.1f * static_cast<float>(i % 7);
      phase[i] = 0.5f * static_cast<float>(i % 11) - 2.5f;
    }
    if (loaded.model == nullptr) return {};
    const Status run = loaded.model->run({1, 6, 9, log_magnitude.data(), phase.data()}, nullptr);
    EXPECT_TRUE(run.ok()) << run.to_string();
    log_magnitude.insert(log_magnitude.end(), phase.begin(), phase.end());
    return log_magnitude;
  }

  TemporaryFolder folder_;
  Checkpoint tiny_;
};

TEST_F(CheckpointTest, EveryKeyLayoutGivesTheSameBits) {
  const std::vector<float> want = output_of(tiny_);
  ASSERT_FALSE(want.empty());
  EXPECT_EQ(output_of(tiny_.with_prefix("model.")), want);
  EXPECT_EQ(output_of(tiny_.with_prefix("SEMamba.")), want);
  EXPECT_EQ(output_of(tiny_.as_speech_lens()), want);
  EXPECT_EQ(output_of(tiny_.as_mlx_speech()), want);
}

TEST_F(CheckpointTest, ConvertersRenameAsPublished) {
  const Checkpoint lens = tiny_.as_speech_lens(), mlx = tiny_.as_mlx_speech();
  EXPECT_TRUE(lens.tensors.contains("tfMamba.0.timeMamba.forward.xProj.weight"));
  EXPECT_TRUE(lens.tensors.contains("denseEncoder.denseBlock.layers.3.layers.0.weight"));
  EXPECT_TRUE(lens.tensors.contains("maskDecoder.upConv1.layers.0.conv.weight"));
  EXPECT_TRUE(mlx.tensors.contains("mask_decoder.up_conv1.conv.conv.weight"));
  EXPECT_TRUE(mlx.tensors.contains("dense_encoder.dense_block.dense_block.3.act.weight"));
  EXPECT_EQ(lens.tensors.at("denseEncoder.conv2.layers.0.weight").shape,
            (std::vector<int64_t>{16, 1, 3, 16}));
  EXPECT_EQ(mlx.tensors.at("TSMamba.1.freq_mamba.backward_blocks.conv1d.weight").shape,
            (std::vector<int64_t>{64, 4, 1}));
}

TEST_F(CheckpointTest, HalfPrecisionIsConverted) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Checkpoint rounded = tiny_;
    for (auto& [name, tensor] : rounded.tensors)
      for (float& v : tensor.values)
        v = dtype == DType::kF16 ? float_from_f16(f16_from_float(v))
                                 : float_from_bf16(bf16_from_float(v));
    EXPECT_EQ(output_of(tiny_, dtype), output_of(rounded)) << to_string(dtype);
    EXPECT_NE(output_of(rounded), output_of(tiny_)) << to_string(dtype);
  }
}

TEST_F(CheckpointTest, EverythingWrongIsNamedAtOnce) {
  Checkpoint wrong = tiny_;
  wrong.tensors.erase("TSMamba.1.time_mamba.forward_blocks.D");
  wrong.tensors.erase("phase_decoder.phase_conv_i.bias");
  wrong.tensors["TSMamba.2.time_mamba.forward_blocks.D"] = {{64}, std::vector<float>(64)};
  wrong.tensors["optimizer"] = {{1}, {0}};
  wrong.tensors["mask_decoder.final_conv.weight"] = {{1, 17, 1, 1}, std::vector<float>(17)};
  wrong.tensors["dense_encoder.dense_conv_1.1.bias"] = {{4, 4}, std::vector<float>(16)};
  const Status status = load(wrong);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(
      status.message(),
      AllOf(
          HasSubstr("2 missing: TSMamba.1.time_mamba.forward_blocks.D, "
                    "phase_decoder.phase_conv_i.bias"),
          HasSubstr("2 unexpected: TSMamba.2.time_mamba.forward_blocks.D, optimizer"),
          HasSubstr("2 misshaped: dense_encoder.dense_conv_1.1.bias got F32 [4, 4] want F32 [16]"),
          HasSubstr("mask_decoder.final_conv.weight got F32 [1, 17, 1, 1] want F32 [1, 16, 1, 1]"),
          Not(HasSubstr("\n"))));
}

TEST_F(CheckpointTest, WrongTensorsAreNamedAsTheFileNamesThem) {
  Checkpoint wrong = tiny_.as_speech_lens();
  wrong.tensors.erase("tfMamba.1.timeMamba.forward.D");
  EXPECT_THAT(load(wrong).message(), AllOf(HasSubstr("SpeechLens MLX keys"),
                                           HasSubstr("1 missing: tfMamba.1.timeMamba.forward.D")));
  wrong = tiny_.as_mlx_speech();
  wrong.tensors.erase("mask_decoder.up_conv2.conv.conv.weight");
  EXPECT_THAT(load(wrong).message(),
              AllOf(HasSubstr("mlx-speech MLX keys"),
                    HasSubstr("1 missing: mask_decoder.up_conv2.conv.conv.weight")));
}

TEST_F(CheckpointTest, PrefixOnSomeKeysOnlyIsRefused) {
  Checkpoint mixed = tiny_;
  auto node = mixed.tensors.extract("mask_decoder.final_conv.bias");
  node.key() = "model.mask_decoder.final_conv.bias";
  mixed.tensors.insert(std::move(node));
  EXPECT_THAT(load(mixed).message(),
              AllOf(HasSubstr("1 missing: mask_decoder.final_conv.bias"),
                    HasSubstr("1 unexpected: model.mask_decoder.final_conv.bias")));
}

TEST_F(CheckpointTest, OtherDtypesAreRefused) {
  const std::vector<int32_t> values(16);
  std::map<std::string, ConstTensorView> views;
  for (const auto& [name, tensor] : tiny_.tensors) {
    if (tensor.shape.size() != 1 || tensor.shape[0] != 16) continue;
    views[name] = {values.data(), DType::kI32, {16}};
  }
  ASSERT_TRUE(io::write_safetensors(folder_ / "model.safetensors", views, tiny_.metadata).ok());
  EXPECT_THAT(load(folder_ / "model.safetensors").message(),
              HasSubstr("not F32, F16 or BF16: dense_encoder.dense_conv_1.0.bias got I32"));
}

TEST_F(CheckpointTest, AnotherNetworkIsRefused) {
  Checkpoint other{{{"conv.weight", {{2}, {1, 2}}}}, tiny_.metadata};
  const Status status = load(other);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("184 missing"), HasSubstr("unexpected: conv.weight")));
}

TEST_F(CheckpointTest, SizesFarBeyondTheFileAreRefusedBeforeMemoryIsTaken) {
  Checkpoint huge = tiny_;
  huge.metadata["num_tfmamba"] = "1024";
  huge.metadata["hid_feature"] = "4096";
  huge.metadata["expand"] = "64";
  EXPECT_EQ(load(huge).code(), StatusCode::kInvalidArgument);
}

TEST_F(CheckpointTest, DirectoryGivesItsModelAndConfiguration) {
  Checkpoint bare{tiny_.tensors, {}};
  bare.write(folder_ / "weights.safetensors");
  EXPECT_THAT(load(folder_.path()).message(), HasSubstr("no model configuration"));
  write_file(folder_ / "config.json", kTinyConfig);
  EXPECT_TRUE(load(folder_.path()).ok()) << load(folder_.path()).to_string();
  EXPECT_TRUE(load(folder_ / "weights.safetensors").ok()) << "the file beside config.json";

  write_file(folder_ / "another.safetensors", "not one");
  EXPECT_THAT(load(folder_.path()).message(),
              HasSubstr("2 .safetensors files in this directory, another.safetensors and "
                        "weights.safetensors among them"));
  bare.write(folder_ / "model.safetensors");
  EXPECT_TRUE(load(folder_.path()).ok()) << "model.safetensors is preferred";
}

TEST_F(CheckpointTest, MissingAndDamagedFilesAreToldApart) {
  EXPECT_EQ(load(folder_ / "nothing.safetensors").code(), StatusCode::kNotFound);
  EXPECT_EQ(load(folder_.path()).code(), StatusCode::kNotFound) << "an empty directory";
  write_file(folder_ / "model.safetensors", "RIFF");
  EXPECT_EQ(load(folder_ / "model.safetensors").code(), StatusCode::kDataLoss);
  write_file(folder_ / "model.safetensors", "");
  EXPECT_EQ(load(folder_ / "model.safetensors").code(), StatusCode::kDataLoss);
  tiny_.metadata.clear();
  tiny_.write(folder_ / "model.safetensors");
  write_file(folder_ / "config.json", "{\"model_cfg\": ");
  EXPECT_EQ(load(folder_ / "model.safetensors").code(), StatusCode::kDataLoss);
}

TEST_F(CheckpointTest, ForcedKernelsAreTheOnesThatRun) {
  Result<Context> context =
      Context::create({.threads = 1, .forced = {"selective_scan/ref", "causal_conv1d/ref"}});
  ASSERT_TRUE(context);
  const auto model = ReUse::load(golden(kTiny), *context, Precision::kStandard);
  ASSERT_TRUE(model) << model.error().to_string();
  EXPECT_THAT(
      (*model)->kernels(),
      testing::ElementsAre("causal_conv1d/ref", "matrix_product/onednn.f32", "selective_scan/ref"));
}

TEST_F(CheckpointTest, ParametersAreCounted) {
  int64_t n = 0;
  for (const auto& [name, tensor] : tiny_.tensors) n += static_cast<int64_t>(tensor.values.size());
  EXPECT_EQ(load_model(golden(kTiny), 1).model->parameters(), n);
}

}  // namespace
}  // namespace hiss::models
