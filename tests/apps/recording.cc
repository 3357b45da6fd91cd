// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "apps/recording.h"

#include <cmath>
#include <random>

namespace hiss::testing_support {

std::vector<double> Recording::channel(int which) const {
  std::vector<double> out;
  for (size_t i = static_cast<size_t>(which); i < samples.size(); i += channels) {
    out.push_back(samples[i]);
  }
  return out;
}

Recording noisy_recording(double seconds, int channels, int sample_rate, int format) {
  Recording recording{.format = format, .sample_rate = sample_rate, .channels = channels};
  std::mt19937 random(7);
  const auto frames = static_cast<int64_t>(seconds * sample_rate);
  for (int64_t i = 0; i < frames; ++i) {
    const double t = static_cast<double>(i) / sample_rate;
    for (int c = 0; c < channels; ++c) {
      const double noise = random() / 4294967296.0 - 0.5;
      recording.samples.push_back(0.3 * std::sin(6.28 * 220 * (c + 1) * t) *
                                      std::fabs(std::sin(6.28 * 3 * t)) +
                                  0.1 * noise);
    }
  }
  return recording;
}

bool write_recording(const std::string& path, const Recording& recording) {
  SF_INFO info{};
  info.format = recording.format;
  info.samplerate = recording.sample_rate;
  info.channels = recording.channels;
  if (!sf_format_check(&info)) return false;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  if (file == nullptr) return false;
  for (const auto& [key, text] : recording.tags) sf_set_string(file, key, text.c_str());
  const sf_count_t written = sf_writef_double(file, recording.samples.data(), recording.frames());
  sf_close(file);
  return written == recording.frames();
}

Recording read_recording(const std::string& path) {
  SF_INFO info{};
  SNDFILE* file = sf_open(path.c_str(), SFM_READ, &info);
  if (file == nullptr) return {.format = 0};
  Recording recording{
      .format = info.format, .sample_rate = info.samplerate, .channels = info.channels};
  std::vector<double> block(static_cast<size_t>(4096) * info.channels);
  for (sf_count_t frames; (frames = sf_readf_double(file, block.data(), 4096)) > 0;) {
    recording.samples.insert(recording.samples.end(), block.begin(),
                             block.begin() + frames * info.channels);
  }
  for (int key = SF_STR_FIRST; key <= SF_STR_LAST; ++key) {
    if (const char* text = sf_get_string(file, key)) recording.tags[key] = text;
  }
  sf_close(file);
  return recording;
}

}  // namespace hiss::testing_support
