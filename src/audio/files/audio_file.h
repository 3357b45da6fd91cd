// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "audio/files/output_file.h"
#include "hiss/status.h"

namespace hiss::audio {

// What an audio file is, apart from its samples.
struct AudioInfo {
  int sample_rate = 0;
  int channels = 0;
  int64_t frames = 0;  // as the header says; what read() hands out is what counts
  int format = 0;      // libsndfile's SF_FORMAT_ bits: container, sample format, byte order
};

// "WAV (Microsoft), Signed 16 bit PCM, 48000 Hz, 2 channels, 12.345 s"
std::string to_string(const AudioInfo& info);

// Reads WAV (8, 16, 24, 32 bit, float, double, EXTENSIBLE, RF64), AIFF, CAF, FLAC, Ogg Vorbis and
// Opus, MP3 and whatever else libsndfile reads, block by block. The kind of file is told by its
// contents, never by its name.
class AudioReader {
 public:
  // kNotFound: no such file. kInvalidArgument: a directory or device. kDataLoss: empty, a header
  // without audio, or not a sound file at all. kUnsupported: a sound file of a kind not read here.
  static Result<std::unique_ptr<AudioReader>> open(const std::string& path);
  virtual ~AudioReader() = default;

  virtual const AudioInfo& info() const = 0;
  virtual const std::string& path() const = 0;
  // Fills whole frames (interleaved, full scale 1) from the front of `interleaved`; returns how
  // many, 0 at the end. kDataLoss: damaged data. The double form keeps every bit of 32-bit and
  // double samples.
  virtual Result<int64_t> read(std::span<float> interleaved) = 0;
  virtual Result<int64_t> read(std::span<double> interleaved) = 0;
  // Why the file is held to be cut short (known after open() or at the end of reading), or empty.
  // What is there is read all the same.
  virtual std::string truncation() const = 0;
};

struct AudioWriterOptions {
  bool force = false;  // replace an existing file
  // A container by file extension ("wav", "flac" ...; empty: the input's, unless the output's
  // extension asks for another) and a sample format ("u8" "s8" "pcm16" "pcm24" "pcm32" "float"
  // "double" "vorbis" "opus" "mp3"; empty: the input's, or the nearest the container has).
  std::string container{}, sample_format{};
};

// Writes a file like `reader`'s: same rate, channels, container, sample format and tags, as far as
// the options do not ask for something else. Integer and lossy formats are limited to full scale.
class AudioWriter {
 public:
  // OutputFile's errors (an existing file, the reader's own file ...); kUnsupported: the container
  // cannot hold this rate, these channels, this sample format; kInvalidArgument: an unknown option.
  static Result<std::unique_ptr<AudioWriter>> create(const std::string& path,
                                                     const AudioReader& reader,
                                                     const AudioWriterOptions& options);
  virtual ~AudioWriter() = default;  // without commit() no file is left

  virtual const AudioInfo& info() const = 0;
  // What was not kept as it was (sample format, a tag ...), one line each.
  virtual const std::vector<std::string>& notes() const = 0;
  // Whole frames. kResourceExhausted: disk full.
  virtual Status write(std::span<const float> interleaved) = 0;
  virtual Status write(std::span<const double> interleaved) = 0;
  // Samples so far that lay outside full scale and were limited to it.
  virtual int64_t limited_samples() const = 0;
  // Closes the file, reads its header back (rate, channels, frames) and gives it its name.
  virtual Status commit() = 0;
};

}  // namespace hiss::audio
