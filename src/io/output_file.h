// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "hiss/status.h"

namespace hiss::io {

// A file that appears under its name only when it is complete. It is written under a hidden name in
// the target's folder; commit() puts it on disk and renames it; a destructor without commit removes
// it. A symbolic link is followed: its target is replaced. A replaced file's permissions are kept.
class OutputFile {
 public:
  struct Options {
    bool force = false;      // replace an existing file
    std::string not_same{};  // a file that must not be the target (the input), by identity
  };
  // kAlreadyExists: there is such a file and no `force`. kInvalidArgument: a folder, a device, or
  // the same file as `not_same`. kNotFound: no such folder. kResourceExhausted: disk full, quota
  // used up, too many files open. kInternal: the system refused (permission ...).
  static Result<OutputFile> create(const std::string& path, const Options& options);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  // Open for reading and writing, for a library that takes descriptors.
  int fd() const { return fd_; }
  // As asked for.
  const std::string& path() const { return path_; }
  // Appends. kResourceExhausted: disk full. kInternal: the system said no, with its words.
  Status write(std::span<const std::byte> bytes);
  // Once only. kAlreadyExists: somebody made such a file meanwhile and there is no `force`; it is
  // kept. After an error nothing is left behind.
  Status commit();

 private:
  OutputFile() = default;
  void discard() noexcept;

  int fd_ = -1;
  int slot_ = -1;  // in the list of unfinished files
  bool force_ = false;
  std::string path_, target_, hidden_;
};

// Removes what every OutputFile without commit has written. Async-signal-safe: for a handler that
// ends the process.
void unlink_unfinished_outputs() noexcept;

}  // namespace hiss::io
