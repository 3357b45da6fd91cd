// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Every kind of file, read and written again: the same kind comes out, with as many frames, and for
// lossless ones the same samples to the bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "audio/files/audio_file.h"
#include "audio/files/audio_format.h"
#include "audio/files/sound_files.h"
#include "audio/signals.h"
#include "support/temporary_folder.h"

namespace hiss::audio {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::convert;
using testing_support::load_sound;
using testing_support::make_sound;
using testing_support::noise;
using testing_support::Sound;
using testing_support::TemporaryFolder;

struct Case {
  const char* name;
  int format;
  int rate = 16000, channels = 1;
  bool lossless = true;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<double> signal(int64_t n) {
  const auto x = noise(n, 0.5f);
  std::vector<double> y(x.begin(), x.end());
  for (int64_t i = 0; i < n; ++i) y[i] = 0.3 * y[i] + 0.6 * std::sin(0.05 * static_cast<double>(i));
  y[0] = 1;  // the ends of the scale
  y[1] = -1;
  return y;
}

class FormatTest : public testing::TestWithParam<Case> {};

TEST_P(FormatTest, ComesOutAsItWentIn) {
  const Case& c = GetParam();
  const TemporaryFolder folder;
  const std::string in = folder / "in", out = folder / "out";
  make_sound(in, {c.format, c.rate, c.channels, signal(5001 * c.channels)});
  const Sound before = load_sound(in);
  const Status status = convert<double>(in, out);
  ASSERT_TRUE(status.ok()) << status.to_string();
  const Sound after = load_sound(out);
  EXPECT_EQ(after.format, before.format);
  EXPECT_EQ(after.rate, c.rate);
  EXPECT_EQ(after.channels, c.channels);
  ASSERT_EQ(after.samples.size(), before.samples.size());
  if (c.lossless) {
    EXPECT_EQ(after.samples, before.samples);
  } else {
    double error = 0, energy = 0;
    for (size_t i = 0; i < before.samples.size(); ++i) {
      error += std::pow(after.samples[i] - before.samples[i], 2);
      energy += std::pow(before.samples[i], 2);
    }
    EXPECT_LT(error, 0.05 * energy);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FormatTest,
    testing::Values(
        Case{"wav_u8", SF_FORMAT_WAV | SF_FORMAT_PCM_U8},
        Case{"wav_16", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 2},
        Case{"wav_24", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 48000, 2},
        Case{"wav_32", SF_FORMAT_WAV | SF_FORMAT_PCM_32},
        Case{"wav_float", SF_FORMAT_WAV | SF_FORMAT_FLOAT},
        Case{"wav_double", SF_FORMAT_WAV | SF_FORMAT_DOUBLE},
        Case{"wav_ulaw", SF_FORMAT_WAV | SF_FORMAT_ULAW, 8000},
        Case{"wav_alaw", SF_FORMAT_WAV | SF_FORMAT_ALAW, 8000},
        Case{"wav_ima_adpcm", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, 16000, 1, false},
        Case{"wav_ms_adpcm", SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM, 16000, 1, false},
        Case{"wav_gsm", SF_FORMAT_WAV | SF_FORMAT_GSM610, 8000, 1, false},
        Case{"wav_16_big_endian", SF_ENDIAN_BIG | SF_FORMAT_WAV | SF_FORMAT_PCM_16},
        Case{"wavex_16", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 48000, 6},
        Case{"wavex_24", SF_FORMAT_WAVEX | SF_FORMAT_PCM_24},
        Case{"wavex_float", SF_FORMAT_WAVEX | SF_FORMAT_FLOAT, 96000, 4},
        Case{"rf64_16", SF_FORMAT_RF64 | SF_FORMAT_PCM_16},
        Case{"rf64_float", SF_FORMAT_RF64 | SF_FORMAT_FLOAT, 48000, 2},
        Case{"w64_24", SF_FORMAT_W64 | SF_FORMAT_PCM_24},
        Case{"aiff_s8", SF_FORMAT_AIFF | SF_FORMAT_PCM_S8},
        Case{"aiff_ulaw", SF_FORMAT_AIFF | SF_FORMAT_ULAW, 8000},
        Case{"aiff_16", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 22050, 2},
        Case{"aiff_16_little_endian", SF_ENDIAN_LITTLE | SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
        Case{"aiff_24", SF_FORMAT_AIFF | SF_FORMAT_PCM_24},
        Case{"aiff_32", SF_FORMAT_AIFF | SF_FORMAT_PCM_32},
        Case{"aiff_float", SF_FORMAT_AIFF | SF_FORMAT_FLOAT},
        Case{"aiff_double", SF_FORMAT_AIFF | SF_FORMAT_DOUBLE},
        Case{"caf_16", SF_FORMAT_CAF | SF_FORMAT_PCM_16},
        Case{"caf_24_little_endian", SF_ENDIAN_LITTLE | SF_FORMAT_CAF | SF_FORMAT_PCM_24},
        Case{"caf_float", SF_FORMAT_CAF | SF_FORMAT_FLOAT, 11025, 3},
        Case{"au_16", SF_FORMAT_AU | SF_FORMAT_PCM_16},
        Case{"flac_8", SF_FORMAT_FLAC | SF_FORMAT_PCM_S8},
        Case{"flac_16", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 44100, 2},
        Case{"flac_24", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 192000, 8},
        Case{"ogg_vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 2, false},
        Case{"ogg_opus_8000", SF_FORMAT_OGG | SF_FORMAT_OPUS, 8000, 1, false},
        Case{"ogg_opus_48000", SF_FORMAT_OGG | SF_FORMAT_OPUS, 48000, 2, false},
        Case{"mp3_16000", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 16000, 1, false},
        Case{"mp3_44100", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 44100, 2, false}),
    [](const auto& test) { return test.param.name; });

TEST(AudioWriter, ALACIsWrittenAsIntegersOfItsWidth) {
  for (const auto& [alac, pcm] : {std::pair(SF_FORMAT_ALAC_16, SF_FORMAT_PCM_16),
                                  std::pair(SF_FORMAT_ALAC_24, SF_FORMAT_PCM_24)}) {
    const TemporaryFolder folder;
    make_sound(folder / "in", {SF_FORMAT_CAF | alac, 44100, 2, signal(4000)});
    ASSERT_TRUE(convert(folder / "in", folder / "out").ok());
    const Sound in = load_sound(folder / "in"), out = load_sound(folder / "out");
    EXPECT_EQ(out.format, SF_FORMAT_CAF | pcm);
    EXPECT_EQ(out.samples, in.samples);
  }
}

TEST(AudioWriter, AnOddNumberOfBytesIsNotOneFrameMoreInAiff) {
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_U8, SF_FORMAT_WAV | SF_FORMAT_ULAW,
                           SF_FORMAT_WAV | SF_FORMAT_PCM_24}) {
    for (const int frames : {1001, 1002}) {
      const TemporaryFolder folder;
      make_sound(folder / "in", {format, 8000, 1, signal(frames)});
      ASSERT_TRUE(convert(folder / "in", folder / "out.aiff").ok());
      EXPECT_EQ(load_sound(folder / "out.aiff").samples, load_sound(folder / "in").samples);
    }
  }
}

class LengthTest : public testing::TestWithParam<int> {};

TEST_P(LengthTest, LossyFilesKeepEveryFrame) {
  for (const int frames : {1, 2, 959, 960, 1151, 1153, 4096, 20000}) {
    const TemporaryFolder folder;
    make_sound(folder / "in", {GetParam(), 24000, 1, signal(frames + 2)});
    ASSERT_EQ(load_sound(folder / "in").samples.size(), static_cast<size_t>(frames + 2));
    ASSERT_TRUE(convert(folder / "in", folder / "out").ok());
    EXPECT_EQ(load_sound(folder / "out").samples.size(), static_cast<size_t>(frames + 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, LengthTest,
                         testing::Values(SF_FORMAT_OGG | SF_FORMAT_VORBIS,
                                         SF_FORMAT_OGG | SF_FORMAT_OPUS,
                                         SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III));

// The format that a file of `input`'s kind gets under the name.
int chosen(int input, const std::string& name, const AudioWriterOptions& options = {},
           std::string* note = nullptr) {
  const AudioInfo info{.sample_rate = 48000, .channels = 2, .frames = 1, .format = input};
  const auto choice = choose_format(name, info, options);
  EXPECT_TRUE(choice) << choice.error().to_string();
  if (note) *note = choice->note;
  return choice->format;
}

TEST(ChooseFormat, KeepsTheInputsUnlessAskedOtherwise) {
  const int wavex = SF_FORMAT_WAVEX | SF_FORMAT_PCM_24, opus = SF_FORMAT_OGG | SF_FORMAT_OPUS;
  std::string note;
  EXPECT_EQ(chosen(wavex, "x.wav", {}, &note), wavex);
  EXPECT_THAT(note, IsEmpty());
  EXPECT_EQ(chosen(wavex, "x.WAV"), wavex);
  EXPECT_EQ(chosen(wavex, "x"), wavex);
  EXPECT_EQ(chosen(wavex, "x.whatever"), wavex);
  EXPECT_EQ(chosen(opus, "x.ogg"), opus);
  EXPECT_EQ(chosen(opus, "x.opus"), opus);
}

TEST(ChooseFormat, TheExtensionAsksForAContainerAndTheNearestSamplesAreTaken) {
  std::string note;
  const int wav = SF_FORMAT_WAV, flac = SF_FORMAT_FLAC, ogg = SF_FORMAT_OGG;
  EXPECT_EQ(chosen(wav | SF_FORMAT_PCM_16, "x.flac", {}, &note), flac | SF_FORMAT_PCM_16);
  EXPECT_THAT(note, IsEmpty());
  EXPECT_EQ(chosen(wav | SF_FORMAT_FLOAT, "x.flac", {}, &note), flac | SF_FORMAT_PCM_24);
  EXPECT_THAT(note, HasSubstr("24 bit"));
  EXPECT_EQ(chosen(wav | SF_FORMAT_PCM_U8, "x.flac"), flac | SF_FORMAT_PCM_S8);
  EXPECT_EQ(chosen(wav | SF_FORMAT_PCM_32, "x.flac"), flac | SF_FORMAT_PCM_24);
  EXPECT_EQ(chosen(flac | SF_FORMAT_PCM_S8, "x.wav"), wav | SF_FORMAT_PCM_U8);
  EXPECT_EQ(chosen(wav | SF_FORMAT_PCM_16, "x.ogg", {}, &note), ogg | SF_FORMAT_VORBIS);
  EXPECT_THAT(note, IsEmpty());
  EXPECT_EQ(chosen(wav | SF_FORMAT_PCM_16, "x.opus"), ogg | SF_FORMAT_OPUS);
  EXPECT_EQ(chosen(ogg | SF_FORMAT_VORBIS, "x.opus"), ogg | SF_FORMAT_OPUS);
  EXPECT_EQ(chosen(wav | SF_FORMAT_PCM_16, "x.mp3"), SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III);
  EXPECT_EQ(chosen(ogg | SF_FORMAT_OPUS, "x.wav", {}, &note), wav | SF_FORMAT_FLOAT);
  EXPECT_THAT(note, IsEmpty());
  EXPECT_EQ(chosen(SF_FORMAT_CAF | SF_FORMAT_ALAC_24, "x.wav"), wav | SF_FORMAT_PCM_24);
  EXPECT_EQ(chosen(SF_FORMAT_AIFF | SF_FORMAT_PCM_24, "x.caf"), SF_FORMAT_CAF | SF_FORMAT_PCM_24);
}

TEST(ChooseFormat, OptionsWinOverTheName) {
  const int wav = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  EXPECT_EQ(chosen(wav, "x.wav", {.container = "flac"}), SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  EXPECT_EQ(chosen(wav, "x.wav", {.sample_format = "float"}), SF_FORMAT_WAV | SF_FORMAT_FLOAT);
  EXPECT_EQ(chosen(wav, "x", {.container = "ogg", .sample_format = "opus"}),
            SF_FORMAT_OGG | SF_FORMAT_OPUS);
  EXPECT_EQ(chosen(SF_FORMAT_RF64 | SF_FORMAT_PCM_16, "x.wav", {.container = "wav"}), wav);
}

TEST(ChooseFormat, RefusesWhatIsUnknownOrCannotBe) {
  const auto refused = [](int format, int channels, const AudioWriterOptions& options,
                          StatusCode code, const char* text) {
    const AudioInfo info{.sample_rate = 48000, .channels = channels, .frames = 1, .format = format};
    const auto choice = choose_format("x", info, options);
    ASSERT_FALSE(choice);
    EXPECT_EQ(choice.error().code(), code);
    EXPECT_THAT(choice.error().message(), HasSubstr(text));
  };
  const int wav = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  refused(wav, 1, {.container = "zip"}, StatusCode::kInvalidArgument, "container: got 'zip'");
  refused(wav, 1, {.sample_format = "pcm17"}, StatusCode::kInvalidArgument, "got 'pcm17'");
  refused(wav, 1, {.sample_format = "vorbis"}, StatusCode::kUnsupported, "cannot hold");
  refused(wav, 9, {.container = "flac"}, StatusCode::kUnsupported, "cannot hold 9 channels");
  refused(wav, 3, {.container = "mp3"}, StatusCode::kUnsupported, "cannot hold 3 channels");
}

}  // namespace
}  // namespace hiss::audio
