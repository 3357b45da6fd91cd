// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "audio/files/unfinished_files.h"
#include "hiss/status.h"
#include "io/temporary_file.h"

namespace hiss::audio {

// A file that appears under its name only when it is complete. It is written under a temporary name
// in the target's directory; commit() puts it on disk and renames it; a destructor without commit
// removes it. A symbolic link is followed: its target is replaced.
class OutputFile {
 public:
  struct Options {
    bool force = false;      // replace an existing file
    std::string not_same{};  // a file that must not be the target (the input), by identity
  };
  // kAlreadyExists: there is such a file and no `force`. kInvalidArgument: a directory, a device,
  // or the same file as `not_same`. kNotFound: no such directory. kInternal: may not write there.
  static Result<OutputFile> create(const std::string& path, const Options& options);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  int fd() const { return file_.descriptor(); }
  const std::string& path() const { return path_; }
  // kResourceExhausted: disk full. kInternal: the system said no, with its words.
  Status write(std::span<const std::byte> bytes);
  // fsync and rename. kAlreadyExists: somebody made such a file meanwhile and there is no `force`;
  // it is kept.
  Status commit();

 private:
  OutputFile(std::string path, io::TemporaryFile file, int slot, bool force);
  std::string path_;  // as asked for
  io::TemporaryFile file_;
  int slot_;  // among the unfinished files
  bool force_;
};

// Removes the temporary files of every OutputFile that is not committed. Async-signal-safe: for a
// handler that ends the process.
void unlink_unfinished_outputs() noexcept;

}  // namespace hiss::audio
