// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "audio/files/audio_file.h"
#include "hiss/status.h"

// libsndfile's SF_FORMAT_ numbers: what they mean, and which one an output gets.
namespace hiss::audio {

// How samples are handed to libsndfile.
struct SampleKind {
  enum Kind { kInteger, kFloat, kLossy };  // kLossy: floats, limited to full scale
  Kind kind = kFloat;
  int bits = 0;  // of kInteger: what a sample is rounded to
};
SampleKind sample_kind(int format);

// "WAV (Microsoft)", "Signed 16 bit PCM": libsndfile's words.
std::string container_name(int format);
std::string sample_format_name(int format);

struct FormatChoice {
  int format = 0;
  std::string note{};  // what had to change without being asked for, or empty
};
// The format for a file at `path` made of one like `input`. kInvalidArgument: an unknown container
// or sample format. kUnsupported: the container cannot hold it, with the reason.
Result<FormatChoice> choose_format(const std::string& path, const AudioInfo& input,
                                   const AudioWriterOptions& options);

}  // namespace hiss::audio
