// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>

#include "hiss/status.h"

namespace hiss::io {

// What to do when the final name is taken.
enum class Existing { kReplace, kKeep };

// A file that appears under its name only when complete. It is written under a hidden name in the
// same folder and renamed by commit(); if it goes out of scope before that, nothing is left behind.
// A symbolic link as the name is followed: what it points to is replaced, not the link.
class TemporaryFile {
 public:
  // kInvalidArgument: the name is a folder or a device. kNotFound: the folder does not exist.
  // kResourceExhausted: disk full or quota used up. kInternal: the system refused (permission ...).
  static Result<TemporaryFile> create(const std::string& path);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;
  ~TemporaryFile();

  // The hidden name, for a library that opens files itself.
  const std::string& hidden_path() const { return hidden_path_; }
  // The same file, open for reading and writing, for a library that takes descriptors.
  int descriptor() const { return descriptor_; }
  // Appends.
  Status write(const void* bytes, size_t size);
  // Gives the file its name, once its bytes have reached the disk. kAlreadyExists: the name is
  // taken and `existing` says to keep what is there; nothing is left behind then.
  Status commit(Existing existing = Existing::kReplace);

 private:
  TemporaryFile() = default;
  void discard();

  std::string path_, hidden_path_;
  int descriptor_ = -1;
};

}  // namespace hiss::io
