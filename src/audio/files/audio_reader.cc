// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/audio_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "audio/files/audio_format.h"
#include "audio/files/declared_length.h"
#include "io/system_error.h"

namespace hiss::audio {

std::string to_string(const AudioInfo& info) {
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%.3f s",
                static_cast<double>(info.frames) / info.sample_rate);
  return container_name(info.format) + ", " + sample_format_name(info.format) + ", " +
         std::to_string(info.sample_rate) + " Hz, " + std::to_string(info.channels) +
         (info.channels == 1 ? " channel, " : " channels, ") + seconds;
}

Result<std::unique_ptr<AudioReader>> AudioReader::open(const std::string& path) {
  HISS_ASSIGN_OR_RETURN(std::unique_ptr<AudioReader> reader, SndfileReader::open(path));
  return reader;
}

Result<std::unique_ptr<SndfileReader>> SndfileReader::open(const std::string& path) {
  // Not to wait for the other end of a pipe that is refused anyhow.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return io::system_error(path, errno);
  std::unique_ptr<SndfileReader> reader(new SndfileReader(path, fd));
  HISS_RETURN_IF_ERROR(reader->start());
  return reader;
}

SndfileReader::~SndfileReader() {
  handle_.reset();
  ::close(fd_);
}

Status SndfileReader::start() {
  struct stat status {};
  if (fstat(fd_, &status) != 0) return io::system_error(path_, errno);
  if (S_ISDIR(status.st_mode)) return InvalidArgument(path_ + ": is a folder");
  if (!S_ISREG(status.st_mode)) return InvalidArgument(path_ + ": is not a regular file");
  if (status.st_size == 0) return DataLoss(path_ + ": is empty");
  const int64_t missing = missing_bytes(fd_);
  HISS_ASSIGN_OR_RETURN(handle_, SndfileHandle::open_read(fd_, path_));
  const SF_INFO& info = handle_->info();
  if (info.frames <= 0) return DataLoss(path_ + ": has a header but no audio");
  const bool endless = info.frames == SF_COUNT_MAX;
  info_ = {.sample_rate = info.samplerate,
           .channels = info.channels,
           .frames = info.frames,
           .format = info.format};
  if (endless) {
    truncation_ = "is cut short: its Ogg stream has no end";
    HISS_RETURN_IF_ERROR(count_frames());
  }
  if (missing > 0) {
    truncation_ = "is cut short: " + std::to_string(missing) + " bytes of audio are missing";
  }
  return {};
}

// For a file that does not say how long it is: decodes it once, and starts again.
Status SndfileReader::count_frames() {
  std::vector<float> block(int64_t{4096} * info_.channels);
  int64_t frames = 0;
  for (;;) {
    HISS_ASSIGN_OR_RETURN(const int64_t read_frames, read(std::span(block)));
    if (read_frames == 0) break;
    frames += read_frames;
  }
  if (frames == 0) return DataLoss(path_ + ": has a header but no audio");
  handle_.reset();
  HISS_ASSIGN_OR_RETURN(handle_, SndfileHandle::open_read(fd_, path_));
  info_.frames = frames;
  done_ = 0;
  ended_ = false;
  return {};
}

Result<int64_t> SndfileReader::read(std::span<float> interleaved) {
  if (ended_) return 0;
  const int64_t asked = static_cast<int64_t>(interleaved.size()) / info_.channels;
  return account(sf_readf_float(file(), interleaved.data(), asked), asked);
}

Result<int64_t> SndfileReader::read(std::span<double> interleaved) {
  if (ended_) return 0;
  const int64_t asked = static_cast<int64_t>(interleaved.size()) / info_.channels;
  return account(sf_readf_double(file(), interleaved.data(), asked), asked);
}

// What a read of `asked` frames that gave `frames` means.
Result<int64_t> SndfileReader::account(int64_t frames, int64_t asked) {
  done_ += frames;
  if (frames == asked) return frames;
  ended_ = true;
  struct stat status {};
  const bool at_end = fstat(fd_, &status) == 0 && lseek(fd_, 0, SEEK_CUR) >= status.st_size;
  const bool early = done_ < info_.frames;
  // A decoder that stumbles over the end of the file found a file cut short, not a damaged one.
  const Status error = handle_->error();
  if (!error.ok() && !(error.code() == StatusCode::kDataLoss && early && at_end)) return error;
  if (early && truncation_.empty()) {
    truncation_ = "is cut short: " + std::to_string(info_.frames - done_) + " of " +
                  std::to_string(info_.frames) + " frames are missing";
  }
  return frames;
}

}  // namespace hiss::audio
