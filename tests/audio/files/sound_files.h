// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>
#include <sndfile.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "audio/files/audio_file.h"

// Sound files made and read with libsndfile alone, beside the code under test.
namespace hiss::testing_support {

struct Sound {
  int format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  int rate = 16000, channels = 1;
  std::vector<double> samples;  // interleaved
};

inline void make_sound(const std::string& path, const Sound& sound) {
  SF_INFO info{};
  info.samplerate = sound.rate;
  info.channels = sound.channels;
  info.format = sound.format;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  ASSERT_NE(file, nullptr) << path << ": " << sf_strerror(nullptr);
  sf_command(file, SFC_SET_CLIPPING, nullptr, SF_TRUE);
  sf_write_double(file, sound.samples.data(), static_cast<sf_count_t>(sound.samples.size()));
  ASSERT_EQ(sf_close(file), 0);
}

inline Sound load_sound(const std::string& path) {
  SF_INFO info{};
  SNDFILE* file = sf_open(path.c_str(), SFM_READ, &info);
  EXPECT_NE(file, nullptr) << path << ": " << sf_strerror(nullptr);
  if (!file) return {};
  Sound sound{info.format, info.samplerate, info.channels, {}};
  sound.samples.resize(info.frames * info.channels);
  EXPECT_EQ(sf_readf_double(file, sound.samples.data(), info.frames), info.frames);
  sf_close(file);
  return sound;
}

// Reads `input` and writes it to `output` through the code under test, `block` frames at a time.
template <class Sample = float>
Status convert(const std::string& input, const std::string& output,
               const audio::AudioWriterOptions& options = {}, int64_t block = 1000) {
  HISS_ASSIGN_OR_RETURN(const auto reader, audio::AudioReader::open(input));
  HISS_ASSIGN_OR_RETURN(const auto writer, audio::AudioWriter::create(output, *reader, options));
  std::vector<Sample> samples(block * reader->info().channels);
  for (;;) {
    HISS_ASSIGN_OR_RETURN(const int64_t frames, reader->read(std::span(samples)));
    if (frames == 0) return writer->commit();
    const std::span<const Sample> read(samples.data(), frames * reader->info().channels);
    HISS_RETURN_IF_ERROR(writer->write(read));
  }
}

}  // namespace hiss::testing_support
