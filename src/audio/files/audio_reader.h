// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "audio/files/audio_file.h"
#include "audio/files/sndfile_handle.h"

namespace hiss::audio {

// The AudioReader there is; an AudioWriter takes the tags from its handle.
class SndfileReader final : public AudioReader {
 public:
  static Result<std::unique_ptr<SndfileReader>> open(const std::string& path);
  ~SndfileReader() override;
  const AudioInfo& info() const override { return info_; }
  const std::string& path() const override { return path_; }
  Result<int64_t> read(std::span<float> interleaved) override;
  Result<int64_t> read(std::span<double> interleaved) override;
  std::string truncation() const override { return truncation_; }
  SNDFILE* file() const { return handle_->get(); }

 private:
  SndfileReader(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status start();
  Status count_frames();
  Result<int64_t> account(int64_t frames, int64_t asked);

  std::string path_;
  int fd_;
  std::optional<SndfileHandle> handle_;
  AudioInfo info_;
  int64_t done_ = 0;
  bool ended_ = false;
  std::string truncation_;
};

}  // namespace hiss::audio
