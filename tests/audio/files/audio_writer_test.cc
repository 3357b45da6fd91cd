// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "audio/files/audio_file.h"
#include "audio/files/sound_files.h"
#include "audio/signals.h"
#include "support/temporary_folder.h"

namespace hiss::audio {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::convert;
using testing_support::load_sound;
using testing_support::make_sound;
using testing_support::noise;
using testing_support::read_file;
using testing_support::TemporaryFolder;

// Writes `samples` to a file like one of `format` and returns what is in it.
std::vector<double> written(const std::vector<float>& samples, int format, int64_t* limited) {
  const TemporaryFolder folder;
  make_sound(folder / "in", {format, 48000, 1, {0.0}});
  const auto reader = AudioReader::open(folder / "in");
  EXPECT_TRUE(reader);
  auto writer = AudioWriter::create(folder / "out", **reader, {});
  EXPECT_TRUE(writer) << writer.error().to_string();
  EXPECT_TRUE((*writer)->write(std::span(samples)).ok());
  *limited = (*writer)->limited_samples();
  EXPECT_TRUE((*writer)->commit().ok());
  return load_sound(folder / "out").samples;
}

TEST(AudioWriter, IntegersAreLimitedRoundedAndNeverWrap) {
  constexpr float kStep = 1.0f / 32768;
  int64_t limited = 0;
  const auto y = written({0.0f, 1.0f, -1.0f, 1.5f, -1.5f, INFINITY, -INFINITY, 1e30f, NAN,
                          0.5f * kStep, 1.5f * kStep, -0.5f * kStep, -1.5f * kStep, 0.51f * kStep},
                         SF_FORMAT_WAV | SF_FORMAT_PCM_16, &limited);
  const double top = 32767.0 / 32768;
  EXPECT_THAT(
      y, ElementsAre(0, top, -1, top, -1, top, -1, top, 0, 0, 2 * kStep, 0, -2 * kStep, kStep));
  EXPECT_EQ(limited, 5);  // full scale itself is not beyond it
}

TEST(AudioWriter, EveryIntegerWidthReachesBothEndsOfItsScale) {
  const std::map<int, int> bits = {
      {SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 8},   {SF_FORMAT_AIFF | SF_FORMAT_PCM_S8, 8},
      {SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16},  {SF_FORMAT_WAV | SF_FORMAT_PCM_24, 24},
      {SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 24}, {SF_FORMAT_WAV | SF_FORMAT_PCM_32, 32}};
  for (const auto& [format, width] : bits) {
    int64_t limited = 0;
    const auto y = written({2.0f, -2.0f, 0.25f}, format, &limited);
    EXPECT_THAT(y, ElementsAre(1 - std::ldexp(1.0, 1 - width), -1, 0.25)) << std::hex << format;
    EXPECT_EQ(limited, 2);
  }
}

TEST(AudioWriter, LossyFilesAreLimitedToo) {
  std::vector<float> x = noise(5000, 4.0f);
  int64_t limited = 0;
  written(x, SF_FORMAT_OGG | SF_FORMAT_VORBIS, &limited);
  EXPECT_EQ(limited, std::ranges::count_if(x, [](float v) { return std::abs(v) > 1; }));
  EXPECT_GT(limited, 1000);
}

TEST(AudioWriter, FloatFilesKeepWhatIsBeyondFullScale) {
  int64_t limited = 0;
  EXPECT_THAT(written({3.0f, -1e30f}, SF_FORMAT_WAV | SF_FORMAT_FLOAT, &limited),
              ElementsAre(3.0, static_cast<double>(-1e30f)));
  EXPECT_EQ(limited, 0);
}

TEST(AudioWriter, FloatsKeepEveryBitOf24BitSamplesAndDoublesOf32BitSamples) {
  const TemporaryFolder folder;
  std::vector<double> x;
  for (const float v : noise(3000, 1.0f)) x.push_back(v + std::ldexp(1.0, -31));
  make_sound(folder / "in24", {SF_FORMAT_WAV | SF_FORMAT_PCM_24, 48000, 2, x});
  ASSERT_TRUE(convert<float>(folder / "in24", folder / "out24").ok());
  EXPECT_EQ(load_sound(folder / "out24").samples, load_sound(folder / "in24").samples);
  make_sound(folder / "in32", {SF_FORMAT_WAV | SF_FORMAT_PCM_32, 48000, 2, x});
  ASSERT_TRUE(convert<double>(folder / "in32", folder / "out32").ok());
  EXPECT_EQ(load_sound(folder / "out32").samples, load_sound(folder / "in32").samples);
}

TEST(AudioWriter, TheSameInputGivesTheSameBytesHoweverItIsCut) {
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_FLOAT, SF_FORMAT_WAVEX | SF_FORMAT_FLOAT,
                           SF_FORMAT_AIFF | SF_FORMAT_FLOAT, SF_FORMAT_CAF | SF_FORMAT_FLOAT,
                           SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16}) {
    const TemporaryFolder folder;
    const auto x = noise(9000);
    make_sound(folder / "in", {format, 48000, 2, {x.begin(), x.end()}});
    ASSERT_TRUE(convert(folder / "in", folder / "a", {}, 1).ok());
    ASSERT_TRUE(convert(folder / "in", folder / "b", {}, 4096).ok());
    const std::string bytes = read_file(folder / "a");
    EXPECT_EQ(bytes, read_file(folder / "b")) << std::hex << format;
    // libsndfile's chunk of this name holds the time of writing.
    EXPECT_EQ(bytes.find("PEAK"), std::string::npos) << std::hex << format;
  }
}

using TagList = std::map<int, std::string>;
const TagList kTags = {{SF_STR_TITLE, "A title"},     {SF_STR_ARTIST, "An artist \xc3\xa9"},
                       {SF_STR_COMMENT, "A comment"}, {SF_STR_DATE, "2026-01-02"},
                       {SF_STR_ALBUM, "An album"},    {SF_STR_GENRE, "Speech"}};

// A file with some tags, and what the library reads back of them.
void make_tagged(const std::string& path, int format) {
  SF_INFO info{};
  info.samplerate = 48000;
  info.channels = 2;
  info.format = format;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  ASSERT_NE(file, nullptr);
  for (const auto& [number, value] : kTags) sf_set_string(file, number, value.c_str());
  const std::vector<float> silence(2000);
  sf_write_float(file, silence.data(), 2000);
  sf_close(file);
}

TagList tags_of(const std::string& path) {
  SF_INFO info{};
  SNDFILE* file = sf_open(path.c_str(), SFM_READ, &info);
  TagList tags;
  for (int number = SF_STR_FIRST; number <= SF_STR_LAST; ++number) {
    if (const char* value = sf_get_string(file, number)) tags[number] = value;
  }
  sf_close(file);
  return tags;
}

TEST(AudioWriter, KeepsTheTags) {
  const std::map<int, size_t> at_least = {
      {SF_FORMAT_WAV | SF_FORMAT_PCM_16, 6},  {SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 6},
      {SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 3}, {SF_FORMAT_CAF | SF_FORMAT_PCM_16, 6},
      {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 6}, {SF_FORMAT_OGG | SF_FORMAT_VORBIS, 6},
      {SF_FORMAT_OGG | SF_FORMAT_OPUS, 6},    {SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 6}};
  for (const auto& [format, count] : at_least) {
    const TemporaryFolder folder;
    make_tagged(folder / "in", format);
    const TagList before = tags_of(folder / "in");
    EXPECT_GE(before.size(), count) << std::hex << format;
    ASSERT_TRUE(convert(folder / "in", folder / "out").ok());
    EXPECT_EQ(tags_of(folder / "out"), before) << std::hex << format;
  }
}

TEST(AudioWriter, KeepsBroadcastInformationAndCuePoints) {
  const TemporaryFolder folder;
  SF_INFO info{};
  info.samplerate = 48000;
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  SNDFILE* file = sf_open((folder / "in").c_str(), SFM_WRITE, &info);
  SF_BROADCAST_INFO broadcast{};
  std::copy_n("Interview", 9, broadcast.description);
  broadcast.time_reference_low = 12345;
  ASSERT_TRUE(sf_command(file, SFC_SET_BROADCAST_INFO, &broadcast, sizeof(broadcast)));
  auto cues = std::make_unique<SF_CUES>();
  cues->cue_count = 1;
  cues->cue_points[0].indx = 1;
  cues->cue_points[0].sample_offset = 500;
  ASSERT_TRUE(sf_command(file, SFC_SET_CUE, cues.get(), sizeof(*cues)));
  const std::vector<float> silence(1000);
  sf_write_float(file, silence.data(), 1000);
  sf_close(file);

  ASSERT_TRUE(convert(folder / "in", folder / "out").ok());
  file = sf_open((folder / "out").c_str(), SFM_READ, &info);
  SF_BROADCAST_INFO found{};
  ASSERT_TRUE(sf_command(file, SFC_GET_BROADCAST_INFO, &found, sizeof(found)));
  EXPECT_STREQ(found.description, "Interview");
  EXPECT_EQ(found.time_reference_low, 12345u);
  *cues = {};
  ASSERT_TRUE(sf_command(file, SFC_GET_CUE, cues.get(), sizeof(*cues)));
  EXPECT_EQ(cues->cue_count, 1u);
  EXPECT_EQ(cues->cue_points[0].sample_offset, 500u);
  sf_close(file);
}

TEST(AudioWriter, KeepsTheChannelMap) {
  const TemporaryFolder folder;
  SF_INFO info{};
  info.samplerate = 48000;
  info.channels = 2;
  info.format = SF_FORMAT_WAVEX | SF_FORMAT_PCM_16;
  SNDFILE* file = sf_open((folder / "in").c_str(), SFM_WRITE, &info);
  int map[] = {SF_CHANNEL_MAP_REAR_LEFT, SF_CHANNEL_MAP_REAR_RIGHT};
  ASSERT_TRUE(sf_command(file, SFC_SET_CHANNEL_MAP_INFO, map, sizeof(map)));
  const std::vector<float> silence(2000);
  sf_write_float(file, silence.data(), 2000);
  sf_close(file);
  ASSERT_TRUE(convert(folder / "in", folder / "out").ok());
  file = sf_open((folder / "out").c_str(), SFM_READ, &info);
  int found[2] = {};
  ASSERT_TRUE(sf_command(file, SFC_GET_CHANNEL_MAP_INFO, found, sizeof(found)));
  sf_close(file);
  EXPECT_THAT(found, ElementsAre(SF_CHANNEL_MAP_REAR_LEFT, SF_CHANNEL_MAP_REAR_RIGHT));
}

TEST(AudioWriter, SaysWhatItCouldNotKeep) {
  const TemporaryFolder folder;
  make_tagged(folder / "in.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT);
  const auto reader = AudioReader::open(folder / "in.wav");
  ASSERT_TRUE(reader);
  const auto w64 = AudioWriter::create(folder / "out.w64", **reader, {});
  ASSERT_TRUE(w64);
  EXPECT_THAT((*w64)->notes(), Contains(HasSubstr("title")));
  const auto flac = AudioWriter::create(folder / "out.flac", **reader, {});
  ASSERT_TRUE(flac);
  EXPECT_THAT((*flac)->notes(), ElementsAre(HasSubstr("24 bit")));
  const auto wav = AudioWriter::create(folder / "out.wav", **reader, {});
  ASSERT_TRUE(wav);
  EXPECT_THAT((*wav)->notes(), IsEmpty());
}

}  // namespace
}  // namespace hiss::audio
