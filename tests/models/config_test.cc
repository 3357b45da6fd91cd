// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/config.h"

#include <gmock/gmock.h>

#include "models/support.h"
#include "support/temporary_folder.h"

namespace hiss::models::re_use {
namespace {

using testing::HasSubstr;

// RE-USE's own config.json, with one value replaced.
std::string config_with(const std::string& key, const std::string& value) {
  std::map<std::string, std::string> model = {
      {"num_tfmamba", "30"},  {"hid_feature", "64"},   {"d_state", "16"},
      {"d_conv", "4"},        {"expand", "4"},         {"norm_epsilon", "1e-5"},
      {"input_channel", "2"}, {"output_channel", "1"}, {"compress_factor", "\"relu_log1p\""},
      {"beta", "2.0"},        {"mapping", "true"},     {"inner_mamba_nlayer", "1"}};
  std::map<std::string, std::string> stft = {{"n_fft", "320"},
                                             {"hop_size", "40"},
                                             {"win_size", "320"},
                                             {"sampling_rate", "8000"},
                                             {"sfi", "true"}};
  auto& group = stft.contains(key) ? stft : model;
  group[key] = value;
  if (value.empty()) group.erase(key);
  std::string text = "{\"model_cfg\": {";
  for (const auto& [k, v] : model) text += (text.back() == '{' ? "\"" : ", \"") + k + "\": " + v;
  text += "}, \"stft_cfg\": {";
  for (const auto& [k, v] : stft) text += (text.back() == '{' ? "\"" : ", \"") + k + "\": " + v;
  return text + "}}";
}

TEST(Config, ReadsThePublishedOne) {
  const Result<ReUseConfig> c = parse_config(config_with("beta", "2.0"));
  ASSERT_TRUE(c) << c.error().to_string();
  EXPECT_EQ(c->blocks, 30);
  EXPECT_EQ(c->channels, 64);
  EXPECT_EQ(c->expand, 4);
  EXPECT_EQ(c->d_state, 16);
  EXPECT_EQ(c->d_conv, 4);
  EXPECT_EQ(c->dt_rank, 4);
  EXPECT_EQ(c->norm_epsilon, 1e-5);
  EXPECT_EQ(c->n_fft, 320);
  EXPECT_EQ(c->hop_size, 40);
  EXPECT_EQ(c->win_size, 320);
  EXPECT_EQ(c->sampling_rate, 8000);
  EXPECT_FALSE(c->input_rms_dbfs.has_value());
}

TEST(Config, RankOfTheStepIsASixteenthRoundedUpUnlessGiven) {
  EXPECT_EQ(parse_config(config_with("hid_feature", "17"))->dt_rank, 2);
  EXPECT_EQ(parse_config(config_with("dt_rank", "7"))->dt_rank, 7);
  EXPECT_EQ(parse_config(config_with("dt_rank", "\"auto\""))->dt_rank, 4);
}

struct BadValue {
  const char* key;
  const char* value;  // JSON; empty: missing
  StatusCode code;
  const char* text;
};
std::ostream& operator<<(std::ostream& out, const BadValue& v) {
  return out << v.key << " = " << v.value;
}
class BadConfig : public testing::TestWithParam<BadValue> {};
TEST_P(BadConfig, IsRefusedByName) {
  const BadValue& bad = GetParam();
  const Result<ReUseConfig> config = parse_config(config_with(bad.key, bad.value));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code(), bad.code) << config.error().to_string();
  EXPECT_THAT(config.error().message(), HasSubstr(std::string(bad.key) + ": " + bad.text));
}
constexpr StatusCode kInvalid = StatusCode::kInvalidArgument;
INSTANTIATE_TEST_SUITE_P(
    Values, BadConfig,
    testing::Values(
        BadValue{"num_tfmamba", "", kInvalid, "missing"},
        BadValue{"num_tfmamba", "0", kInvalid, "got 0, want an integer from 1 to 1024"},
        BadValue{"num_tfmamba", "-1", kInvalid, "got -1"},
        BadValue{"num_tfmamba", "1025", kInvalid, "got 1025"},
        BadValue{"hid_feature", "64.5", kInvalid, "got 64.5"},
        BadValue{"hid_feature", "\"64\"", kInvalid, "got \"64\""},
        BadValue{"expand", "18446744073709551615", kInvalid, "got 18446744073709551615"},
        BadValue{"d_state", "null", kInvalid, "got null"},
        BadValue{"d_conv", "[4]", kInvalid, "got [4]"}, BadValue{"dt_rank", "0", kInvalid, "got 0"},
        BadValue{"norm_epsilon", "0", kInvalid, "got 0, want a number"},
        BadValue{"norm_epsilon", "\"small\"", kInvalid, "got \"small\""},
        BadValue{"n_fft", "1", kInvalid, "got 1"},
        BadValue{"hop_size", "321", kInvalid, "got 321, want an integer from 1 to 320"},
        BadValue{"win_size", "0", kInvalid, "got 0"},
        BadValue{"sampling_rate", "", kInvalid, "missing"},
        BadValue{"sfi", "false", StatusCode::kUnsupported, "got false, want true"},
        BadValue{"mapping", "false", StatusCode::kUnsupported, "got false, want true"},
        BadValue{"compress_factor", "0.3", StatusCode::kUnsupported,
                 "got 0.3, want \"relu_log1p\""},
        BadValue{"input_channel", "3", StatusCode::kUnsupported, "got 3, want 2"},
        BadValue{"inner_mamba_nlayer", "2", StatusCode::kUnsupported, "got 2, want 1"}));

TEST(Config, TextThatIsNoJsonObjectIsRefused) {
  EXPECT_EQ(parse_config("{").error().code(), StatusCode::kDataLoss);
  EXPECT_EQ(parse_config("[1]").error().code(), StatusCode::kInvalidArgument);
}

// A file of metadata alone.
class MetadataTest : public testing::Test {
 protected:
  Result<ReUseConfig> read(const std::map<std::string, std::string>& metadata,
                           const std::string& config_json = {}) {
    const std::string path = folder_ / "m.safetensors";
    EXPECT_TRUE(io::write_safetensors(path, {}, metadata).ok());
    const Result<io::Safetensors> file = io::Safetensors::open(path);
    EXPECT_TRUE(file) << file.error().to_string();
    return read_config(*file, config_json);
  }
  testing_support::TemporaryFolder folder_;
  std::map<std::string, std::string> flat_ = {
      {"num_tfmamba", "3"}, {"hid_feature", "8"}, {"d_state", "4"},
      {"d_conv", "2"},      {"expand", "2"},      {"n_fft", "640"},
      {"hop_size", "80"},   {"win_size", "512"},  {"sampling_rate", "16000"}};
};

TEST_F(MetadataTest, KeysOneByOne) {
  const Result<ReUseConfig> c = read(flat_);
  ASSERT_TRUE(c) << c.error().to_string();
  EXPECT_EQ(c->blocks, 3);
  EXPECT_EQ(c->win_size, 512);
  EXPECT_EQ(c->norm_epsilon, 1e-5);
  flat_["d_state"] = "many";
  EXPECT_THAT(read(flat_).error().message(), HasSubstr("d_state: got \"many\""));
}

TEST_F(MetadataTest, TextOfAConfigJsonComesFirst) {
  flat_["config"] = config_with("num_tfmamba", "5");
  EXPECT_EQ(read(flat_, config_with("num_tfmamba", "6"))->blocks, 5);
  flat_.erase("config");
  EXPECT_EQ(read(flat_, config_with("num_tfmamba", "6"))->blocks, 3);
  EXPECT_EQ(read({}, config_with("num_tfmamba", "6"))->blocks, 6);
  EXPECT_EQ(read({}).error().code(), StatusCode::kInvalidArgument);
}

TEST_F(MetadataTest, InputLevelIsReadWhereverTheRestIs) {
  EXPECT_EQ(read({{"input_rms_dbfs", "-20"}}, config_with("beta", "2.0"))->input_rms_dbfs, -20.0);
  for (const char* bad : {"loud", "", "1e9", "null"}) {
    flat_["input_rms_dbfs"] = bad;
    EXPECT_THAT(read(flat_).error().message(), HasSubstr("input_rms_dbfs: got")) << bad;
  }
}

TEST_F(MetadataTest, BypassIsARuleOrIsRefused) {
  EXPECT_FALSE(read(flat_)->bypass.has_value());
  flat_["bypass"] = R"({"low_db": -20.0, "high_db": -14.0, "bins": 3, "frames": 2})";
  const auto rule = read(flat_)->bypass;
  ASSERT_TRUE(rule.has_value());
  EXPECT_EQ(rule->low_db, -20.0);
  EXPECT_EQ(rule->high_db, -14.0);
  EXPECT_EQ(rule->bins, 3);
  EXPECT_EQ(rule->frames, 2);
  for (const char* bad : {"", "3", "{}", R"({"low_db": -20, "bins": 3, "frames": 3})",
                          R"({"low_db": -14, "high_db": -20, "bins": 3, "frames": 3})",
                          R"({"low_db": -20, "high_db": -14, "bins": -1, "frames": 3})"}) {
    flat_["bypass"] = bad;
    const auto config = read(flat_);
    ASSERT_FALSE(config) << bad;
    EXPECT_EQ(config.error().code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(config.error().message(), HasSubstr("model configuration: ")) << bad;
  }
}

}  // namespace
}  // namespace hiss::models::re_use
