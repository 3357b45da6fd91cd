// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "apps/enhance_fixture.h"

namespace hiss {
namespace {

using testing_support::Ended;
using testing_support::EnhanceTest;
using testing_support::noisy_recording;
using testing_support::read_recording;
using testing_support::Recording;
using testing_support::run_hiss;
using testing_support::write_recording;

struct Format {
  std::string name;
  int format;
  bool lossless = true;
  int sample_rate = 16000;
};

void PrintTo(const Format& f, std::ostream* out) { *out << f.name; }

const Format kFormats[] = {
    {"WavPcmU8", SF_FORMAT_WAV | SF_FORMAT_PCM_U8},
    {"WavPcm16", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
    {"WavPcm24", SF_FORMAT_WAV | SF_FORMAT_PCM_24},
    {"WavPcm32", SF_FORMAT_WAV | SF_FORMAT_PCM_32},
    {"WavFloat", SF_FORMAT_WAV | SF_FORMAT_FLOAT},
    {"WavDouble", SF_FORMAT_WAV | SF_FORMAT_DOUBLE},
    {"WavBigEndian", SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG},
    {"WavExtensible", SF_FORMAT_WAVEX | SF_FORMAT_PCM_24},
    {"Rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16},
    {"AiffPcmS8", SF_FORMAT_AIFF | SF_FORMAT_PCM_S8},
    {"AiffPcm24", SF_FORMAT_AIFF | SF_FORMAT_PCM_24},
    {"CafPcm16", SF_FORMAT_CAF | SF_FORMAT_PCM_16},
    {"CafFloat", SF_FORMAT_CAF | SF_FORMAT_FLOAT},
    {"Flac16", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
    {"Flac24", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, true, 44100},
    {"OggVorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, false},
    {"OggOpus", SF_FORMAT_OGG | SF_FORMAT_OPUS, false},
    {"Mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, false},
};

std::string extension(int format) {
  switch (format & SF_FORMAT_TYPEMASK) {
    case SF_FORMAT_AIFF:
      return ".aiff";
    case SF_FORMAT_CAF:
      return ".caf";
    case SF_FORMAT_FLAC:
      return ".flac";
    case SF_FORMAT_OGG:
      return ".ogg";
    case SF_FORMAT_MPEG:
      return ".mp3";
    default:
      return ".wav";
  }
}

class EnhanceFormats : public EnhanceTest, public testing::WithParamInterface<Format> {
 protected:
  void SetUp() override {
    const Format& format = GetParam();
    in = folder / "sound" + extension(format.format);
    out = folder / "clean" + extension(format.format);
    Recording recording = noisy_recording(0.3, 2, format.sample_rate, format.format);
    recording.tags = {{SF_STR_TITLE, "A title"}, {SF_STR_ARTIST, "Jos\u00e9"}};
    if (!write_recording(in, recording)) GTEST_SKIP() << "this libsndfile does not write it";
    source = read_recording(in);  // as the format holds it
  }
  std::string in, out;
  Recording source;
};

TEST_P(EnhanceFormats, KeepRateFramesChannelsFormatAndTags) {
  const Ended ended = run_hiss(enhance(in, out));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const Recording clean = read_recording(out);
  EXPECT_EQ(clean.sample_rate, source.sample_rate);
  EXPECT_EQ(clean.channels, source.channels);
  EXPECT_EQ(clean.frames(), source.frames());
  EXPECT_EQ(clean.format, source.format);
  EXPECT_EQ(clean.tags, source.tags);
  EXPECT_NE(clean.samples, source.samples) << "nothing was done";
}

TEST_P(EnhanceFormats, StrengthZeroGivesTheInputBackToTheBit) {
  if (!GetParam().lossless) GTEST_SKIP() << "a lossy format is encoded anew";
  auto arguments = enhance(in, out);
  arguments.insert(arguments.end(), {"--strength", "0"});
  const Ended ended = run_hiss(arguments);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(read_recording(out).samples, source.samples);
}

INSTANTIATE_TEST_SUITE_P(All, EnhanceFormats, testing::ValuesIn(kFormats),
                         [](const auto& test) { return test.param.name; });

using EnhanceOutput = EnhanceTest;

TEST_F(EnhanceOutput, ExtensionAsksForAContainer) {
  const Ended ended = run_hiss(enhance(input(), folder / "out.flac"));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(read_recording(folder / "out.flac").format, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
}

TEST_F(EnhanceOutput, OptionsAskForContainerAndSamples) {
  auto arguments = enhance(input(), folder / "out.bin");
  arguments.insert(arguments.end(), {"--container", "aiff", "--sample-format", "pcm24"});
  const Ended ended = run_hiss(arguments);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(read_recording(folder / "out.bin").format, SF_FORMAT_AIFF | SF_FORMAT_PCM_24);
}

TEST_F(EnhanceOutput, ChannelsEqualTheirOwnMonoRuns) {
  const int format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
  const Recording stereo = noisy_recording(0.5, 2, 16000, format);
  ASSERT_TRUE(write_recording(folder / "stereo.wav", stereo));
  ASSERT_EQ(run_hiss(enhance(folder / "stereo.wav", folder / "clean.wav")).exit_code, 0);
  const Recording clean = read_recording(folder / "clean.wav");
  for (int c = 0; c < 2; ++c) {
    Recording mono = stereo;
    mono.channels = 1;
    mono.samples = stereo.channel(c);
    const std::string name = folder / ("mono" + std::to_string(c) + ".wav");
    ASSERT_TRUE(write_recording(name, mono));
    ASSERT_EQ(run_hiss(enhance(name, name + ".out.wav")).exit_code, 0);
    EXPECT_EQ(read_recording(name + ".out.wav").samples, clean.channel(c)) << "channel " << c;
  }
}

TEST_F(EnhanceOutput, StrengthMixesInputAndOutput) {
  const int format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
  const Recording noisy = noisy_recording(0.3, 1, 16000, format);
  ASSERT_TRUE(write_recording(folder / "noisy.wav", noisy));
  std::map<std::string, std::vector<double>> out;
  for (const char* strength : {"0.25", "1"}) {
    const std::string path = folder / strength;
    auto arguments = enhance(folder / "noisy.wav", path);
    arguments.insert(arguments.end(), {"--strength", strength});
    ASSERT_EQ(run_hiss(arguments).exit_code, 0);
    out[strength] = read_recording(path).samples;
    ASSERT_EQ(out[strength].size(), noisy.samples.size());
  }
  for (size_t i = 0; i < noisy.samples.size(); ++i) {
    ASSERT_NEAR(out["0.25"][i], 0.75 * noisy.samples[i] + 0.25 * out["1"][i], 1e-6) << i;
  }
}

TEST_F(EnhanceOutput, ZeroFramesOutOfABareFloatFile) {
  Recording empty = noisy_recording(0, 1, 16000, SF_FORMAT_WAV | SF_FORMAT_FLOAT);
  ASSERT_TRUE(write_recording(folder / "empty.wav", empty));
  const Ended ended = run_hiss(enhance(folder / "empty.wav", output()));
  EXPECT_EQ(ended.exit_code, 3) << ended.err;
}

TEST_F(EnhanceOutput, NanAndInfAreReplacedAndCounted) {
  Recording wild = noisy_recording(0.3, 1, 16000, SF_FORMAT_WAV | SF_FORMAT_FLOAT);
  wild.samples[100] = std::nan("");
  wild.samples[2000] = HUGE_VAL;
  ASSERT_TRUE(write_recording(folder / "wild.wav", wild));
  for (const char* strength : {"0", "1"}) {
    auto arguments = enhance(folder / "wild.wav", folder / strength);
    arguments.insert(arguments.end(), {"--strength", strength});
    const Ended ended = run_hiss(arguments);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(ended.out, testing::HasSubstr("2 (NaN or Inf)"));
    const auto samples = read_recording(folder / strength).samples;
    EXPECT_EQ(samples.size(), wild.samples.size());
    EXPECT_TRUE(
        std::all_of(samples.begin(), samples.end(), [](double x) { return std::isfinite(x); }));
  }
}

TEST_F(EnhanceOutput, LoudIntegerOutputIsLimitedAndCountedNeverWrapped) {
  // Far above full scale; 16-bit output has to limit what the mix leaves there.
  Recording loud = noisy_recording(0.3, 1, 16000, SF_FORMAT_WAV | SF_FORMAT_FLOAT);
  for (double& sample : loud.samples) sample *= 20;
  ASSERT_TRUE(write_recording(folder / "loud.wav", loud));
  auto arguments = enhance(folder / "loud.wav", output());
  arguments.insert(arguments.end(), {"--strength", "0", "--sample-format", "pcm16"});
  const Ended ended = run_hiss(arguments);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, testing::Not(testing::HasSubstr("limited samples  0\n")));
  const auto samples = read_recording(output()).samples;
  ASSERT_EQ(samples.size(), loud.samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    ASSERT_NEAR(samples[i], std::clamp(loud.samples[i], -1.0, 1.0), 1.0 / 32767) << i;
  }
}

}  // namespace
}  // namespace hiss
