// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sndfile.h>

#include <memory>
#include <string>

#include "hiss/status.h"

namespace hiss::audio {

// libsndfile on a file descriptor of ours. It is never told a file's name, from which it would
// guess, and never touches the file system itself, so that every failure of the system is seen.
class SndfileHandle {
 public:
  // The descriptor stays the caller's and must outlive the handle. Reading starts at the file's
  // beginning. kDataLoss: not a sound file, or a damaged one. kUnsupported: a kind that libsndfile
  // does not read or write, the reason in its words.
  static Result<SndfileHandle> open_read(int fd, const std::string& path);
  static Result<SndfileHandle> open_write(int fd, const std::string& path, const SF_INFO& info);

  SNDFILE* get() const { return file_.get(); }
  const SF_INFO& info() const { return info_; }
  // What went wrong since it was opened: the system's error first, else libsndfile's; ok when
  // nothing did.
  Status error() const;
  // Flushes and closes; the error, if any. Only error() may be called afterwards.
  Status close();

 private:
  // What libsndfile's calls of read, write and seek end in.
  struct Io {
    int fd = -1;
    std::string path;
    int error = 0;  // errno of the first that failed
  };
  struct Close {
    void operator()(SNDFILE* file) const { sf_close(file); }
  };
  static SF_VIRTUAL_IO calls();
  static Result<SndfileHandle> open(int fd, const std::string& path, int mode, const SF_INFO& info);
  SndfileHandle() = default;

  std::unique_ptr<Io> io_;  // at a fixed address; outlives file_
  std::unique_ptr<SNDFILE, Close> file_;
  SF_INFO info_{};
};

}  // namespace hiss::audio
