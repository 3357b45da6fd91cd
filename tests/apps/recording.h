// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sndfile.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hiss::testing_support {

// A sound file in memory, read and written by libsndfile alone: nothing of hiss is in between.
struct Recording {
  int format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  int sample_rate = 16000;
  int channels = 1;
  std::vector<double> samples{};      // interleaved; holds every integer and float sample exactly
  std::map<int, std::string> tags{};  // SF_STR_TITLE ...

  int64_t frames() const { return static_cast<int64_t>(samples.size()) / channels; }
  std::vector<double> channel(int which) const;
};

// Tones that come and go under noise: another waveform in every channel, the same on every machine.
Recording noisy_recording(double seconds, int channels = 1, int sample_rate = 16000,
                          int format = SF_FORMAT_WAV | SF_FORMAT_PCM_16);

// False when this libsndfile cannot write the format.
bool write_recording(const std::string& path, const Recording& recording);
// No samples and format 0 when there is no such sound file.
Recording read_recording(const std::string& path);

}  // namespace hiss::testing_support
