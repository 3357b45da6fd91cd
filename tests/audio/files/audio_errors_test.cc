// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Files that are not what they say, and disks that do not take what is written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "audio/files/audio_file.h"
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
using testing_support::read_file;
using testing_support::TemporaryFolder;
using testing_support::write_file;

std::vector<double> signal(int64_t n) {
  const auto x = noise(n);
  return {x.begin(), x.end()};
}

void expect_refused(const std::string& path, StatusCode code, const std::string& text) {
  const auto reader = AudioReader::open(path);
  ASSERT_FALSE(reader) << path;
  EXPECT_EQ(reader.error().code(), code) << reader.error().to_string();
  EXPECT_THAT(reader.error().message(), HasSubstr(text));
  EXPECT_THAT(reader.error().message(), HasSubstr(path));
  EXPECT_EQ(reader.error().message().find('\n'), std::string::npos);
}

TEST(AudioReader, RefusesWhatIsNoSoundFile) {
  const TemporaryFolder folder;
  expect_refused(folder / "missing.wav", StatusCode::kNotFound, "No such file");
  expect_refused(folder.path().string(), StatusCode::kInvalidArgument, "is a folder");
  write_file(folder / "empty.wav", "");
  expect_refused(folder / "empty.wav", StatusCode::kDataLoss, "is empty");
  write_file(folder / "text.wav", "Dear Sir or Madam,\nthis is a letter, not a recording.\n");
  expect_refused(folder / "text.wav", StatusCode::kDataLoss, "is not a sound file");
  write_file(folder / "short.wav", "RIFF");
  expect_refused(folder / "short.wav", StatusCode::kDataLoss, "");
  ASSERT_EQ(mkfifo((folder / "pipe.wav").c_str(), 0600), 0);
  expect_refused(folder / "pipe.wav", StatusCode::kInvalidArgument, "not a regular file");
  expect_refused("/dev/null", StatusCode::kInvalidArgument, "not a regular file");
}

TEST(AudioReader, RefusesSamplesWithoutAHeader) {
  const TemporaryFolder folder;
  const auto x = noise(4000);
  const std::string floats(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float));
  // 0xff 0xfb and the like begin an MP3 frame: small negative 16-bit samples look so, too.
  std::string like_mp3;
  for (int i = 0; i < 4000; ++i) like_mp3 += std::string("\xff\xff\xfb\xff", 4);
  const std::string contents[] = {floats, std::string(8000, '\0'), like_mp3};
  for (const char* name : {"raw.wav", "raw.au", "raw.vox", "raw.gsm", "raw.flac"}) {
    for (const std::string& content : contents) {
      write_file(folder / name, content);
      const auto reader = AudioReader::open(folder / name);
      ASSERT_FALSE(reader) << name;
      EXPECT_EQ(reader.error().code(), StatusCode::kDataLoss) << reader.error().to_string();
    }
  }
}

TEST(AudioReader, RefusesAHeaderWithoutAudio) {
  const TemporaryFolder folder;
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_AIFF | SF_FORMAT_PCM_16,
                           SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_CAF | SF_FORMAT_FLOAT,
                           SF_FORMAT_OGG | SF_FORMAT_VORBIS}) {
    make_sound(folder / "header", {format, 16000, 1, {}});
    const auto reader = AudioReader::open(folder / "header");
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().code(), StatusCode::kDataLoss) << reader.error().to_string();
  }
}

TEST(AudioReader, RefusesAHeaderCutAnywhere) {
  const TemporaryFolder folder;
  make_sound(folder / "whole", {SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, signal(1000)});
  const std::string whole = read_file(folder / "whole");
  for (size_t size = 1; size <= 44; ++size) {
    write_file(folder / "cut", whole.substr(0, size));
    const auto reader = AudioReader::open(folder / "cut");
    ASSERT_FALSE(reader) << size << " bytes";
    EXPECT_EQ(reader.error().code(), StatusCode::kDataLoss) << reader.error().to_string();
  }
}

class TruncationTest : public testing::TestWithParam<int> {};

TEST_P(TruncationTest, WhatIsThereIsReadAndTheRestIsReported) {
  const TemporaryFolder folder;
  make_sound(folder / "whole", {GetParam(), 16000, 1, signal(100000)});
  const auto whole = load_sound(folder / "whole").samples;
  const std::string bytes = read_file(folder / "whole");
  write_file(folder / "cut", bytes.substr(0, bytes.size() / 2));
  const auto reader = AudioReader::open(folder / "cut");
  ASSERT_TRUE(reader) << reader.error().to_string();
  std::vector<double> samples, block(777);
  for (;;) {
    const auto frames = (*reader)->read(std::span(block));
    ASSERT_TRUE(frames) << frames.error().to_string();
    if (*frames == 0) break;
    samples.insert(samples.end(), block.begin(), block.begin() + *frames);
  }
  // Vorbis and Opus come in pages of about a second.
  EXPECT_GT(samples.size(), 15000u);
  EXPECT_LT(samples.size(), 70000u);
  EXPECT_GE((*reader)->info().frames, static_cast<int64_t>(samples.size()));
  EXPECT_LE((*reader)->info().frames, 100000);
  const int kind = GetParam() & SF_FORMAT_TYPEMASK;
  const bool lossy = kind == SF_FORMAT_OGG || kind == SF_FORMAT_MPEG;
  for (size_t i = 0; i < samples.size(); ++i)
    ASSERT_NEAR(samples[i], whole[i], lossy ? 0.05 : 0) << i;
  EXPECT_THAT((*reader)->truncation(), HasSubstr("is cut short"));
  // The rest is a whole file of its own.
  ASSERT_TRUE(convert(folder / "cut", folder / "out").ok());
  EXPECT_EQ(load_sound(folder / "out").samples.size(), samples.size());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, TruncationTest,
    testing::Values(SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_FLOAT,
                    SF_FORMAT_WAVEX | SF_FORMAT_PCM_24, SF_FORMAT_RF64 | SF_FORMAT_PCM_16,
                    SF_ENDIAN_BIG | SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                    SF_FORMAT_AIFF | SF_FORMAT_PCM_16, SF_FORMAT_W64 | SF_FORMAT_PCM_16,
                    SF_FORMAT_AU | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                    SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_OGG | SF_FORMAT_OPUS,
                    SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III));

// libsndfile looks for a chunk behind the samples and gives up without it, except near the end.
TEST(AudioReader, ACafFileCutShortIsRefusedOrReported) {
  const TemporaryFolder folder;
  make_sound(folder / "whole", {SF_FORMAT_CAF | SF_FORMAT_PCM_16, 16000, 1, signal(100000)});
  const std::string bytes = read_file(folder / "whole");
  for (const size_t size : {bytes.size() / 100, bytes.size() / 2, bytes.size() - 100}) {
    write_file(folder / "cut", bytes.substr(0, size));
    const auto reader = AudioReader::open(folder / "cut");
    if (reader) {
      EXPECT_THAT((*reader)->truncation(), HasSubstr("is cut short"));
    } else {
      EXPECT_EQ(reader.error().code(), StatusCode::kDataLoss);
    }
  }
}

TEST(AudioReader, SaysThatAFileIsDamagedInTheMiddle) {
  const TemporaryFolder folder;
  make_sound(folder / "whole", {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 1, signal(200000)});
  std::string bytes = read_file(folder / "whole");
  for (size_t i = bytes.size() / 2; i < bytes.size() / 2 + 2000; ++i) bytes[i] = '\x5a';
  write_file(folder / "damaged", bytes);
  const Status status = convert(folder / "damaged", folder / "out");
  EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status.to_string();
  EXPECT_EQ(folder.entries(), 2);
}

TEST(AudioReader, AWholeFileIsNotCutShort) {
  const TemporaryFolder folder;
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_U8, SF_FORMAT_AIFF | SF_FORMAT_PCM_S8,
                           SF_FORMAT_RF64 | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                           SF_FORMAT_CAF | SF_FORMAT_PCM_16, SF_FORMAT_W64 | SF_FORMAT_PCM_24,
                           SF_FORMAT_AU | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_VORBIS}) {
    make_sound(folder / "whole", {format, 16000, 1, signal(1000)});
    const auto reader = AudioReader::open(folder / "whole");
    ASSERT_TRUE(reader);
    std::vector<float> block(2000);
    EXPECT_EQ(*(*reader)->read(std::span(block)), 1000);
    EXPECT_EQ(*(*reader)->read(std::span(block)), 0);
    EXPECT_THAT((*reader)->truncation(), IsEmpty());
  }
}

TEST(AudioReader, ALengthThatWasNeverWrittenIsNotATruncation) {
  const TemporaryFolder folder;
  make_sound(folder / "whole", {SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, signal(1000)});
  std::string bytes = read_file(folder / "whole");
  const size_t data = bytes.find("data");
  bytes.replace(data + 4, 4, "\xff\xff\xff\xff");
  bytes.replace(4, 4, "\xff\xff\xff\xff");
  write_file(folder / "streamed", bytes);
  const auto reader = AudioReader::open(folder / "streamed");
  ASSERT_TRUE(reader) << reader.error().to_string();
  EXPECT_EQ((*reader)->info().frames, 1000);
  EXPECT_THAT((*reader)->truncation(), IsEmpty());
}

// Writes fail beyond `bytes`, as on a full disk.
class DiskOf {
 public:
  explicit DiskOf(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~DiskOf() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

TEST(AudioWriter, SaysThatTheDiskIsFullAndLeavesNothing) {
  for (const int format :
       {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
        SF_FORMAT_AIFF | SF_FORMAT_PCM_24, SF_FORMAT_OGG | SF_FORMAT_VORBIS,
        SF_FORMAT_OGG | SF_FORMAT_OPUS, SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III}) {
    const TemporaryFolder folder;
    make_sound(folder / "in", {format, 16000, 1, signal(100000)});
    for (const int bytes : {1, 30, 5000}) {
      Status status;
      {
        const DiskOf full(bytes);
        status = convert(folder / "in", folder / "out");
      }
      EXPECT_EQ(status.code(), StatusCode::kResourceExhausted)
          << std::hex << format << " " << bytes << ": " << status.to_string();
      EXPECT_THAT(status.message(), HasSubstr(folder / "out"));
      EXPECT_EQ(folder.entries(), 1) << std::hex << format;
    }
  }
}

TEST(AudioWriter, RefusesAnOutputThatCannotBe) {
  const TemporaryFolder folder;
  make_sound(folder / "in.wav", {SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, signal(100)});
  const std::string in = folder / "in.wav", before = read_file(in);
  const auto refused = [&](const std::string& out, const AudioWriterOptions& options,
                           StatusCode code, const std::string& text) {
    const Status status = convert(in, out, options);
    EXPECT_EQ(status.code(), code) << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr(text));
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  };
  refused(folder / "no/such/out.wav", {}, StatusCode::kNotFound, "No such file");
  refused(folder / "in.wav/out.wav", {}, StatusCode::kNotFound, "Not a directory");
  refused(folder.path().string(), {}, StatusCode::kInvalidArgument, "is a folder");
  refused("/dev/full", {.force = true}, StatusCode::kInvalidArgument, "not a regular file");
  // The input itself, under any of its names, forced or not.
  std::filesystem::create_symlink(in, folder / "link.wav");
  std::filesystem::create_hard_link(in, folder / "twin.wav");
  for (const char* name : {"in.wav", "./in.wav", "link.wav", "twin.wav"}) {
    for (const bool force : {false, true}) {
      refused(folder / name, {.force = force}, StatusCode::kInvalidArgument, "same file");
    }
  }
  refused(folder / "out.opus", {.container = "opus", .sample_format = "pcm16"},
          StatusCode::kUnsupported, "cannot hold");
  EXPECT_EQ(read_file(in), before);
  EXPECT_EQ(folder.entries(), 3);
}

TEST(AudioWriter, SaysWhichRatesACodecTakes) {
  const TemporaryFolder folder;
  make_sound(folder / "in.wav", {SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 1, signal(100)});
  const Status opus = convert(folder / "in.wav", folder / "out.opus");
  EXPECT_EQ(opus.code(), StatusCode::kUnsupported);
  EXPECT_THAT(opus.message(), HasSubstr("48000"));
  make_sound(folder / "fast.wav", {SF_FORMAT_WAV | SF_FORMAT_PCM_16, 96000, 1, signal(100)});
  const Status mp3 = convert(folder / "fast.wav", folder / "out.mp3");
  EXPECT_EQ(mp3.code(), StatusCode::kUnsupported);
  EXPECT_THAT(mp3.message(), HasSubstr("48000"));
  EXPECT_EQ(folder.entries(), 2);
}

TEST(AudioWriter, KeepsAnExistingFileUnlessForced) {
  const TemporaryFolder folder;
  make_sound(folder / "in.wav", {SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, signal(100)});
  write_file(folder / "out.wav", "precious");
  EXPECT_EQ(convert(folder / "in.wav", folder / "out.wav").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(read_file(folder / "out.wav"), "precious");
  EXPECT_TRUE(convert(folder / "in.wav", folder / "out.wav", {.force = true}).ok());
  EXPECT_EQ(load_sound(folder / "out.wav").samples.size(), 100u);
  EXPECT_EQ(folder.entries(), 2);
}

}  // namespace
}  // namespace hiss::audio
