// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "hiss/status.h"

namespace hiss::io {

// A whole file as read-only memory.
class MappedFile {
 public:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// kNotFound: no such file. kInvalidArgument: a folder, pipe or device. kInternal: the system
// refused.
Result<std::shared_ptr<const MappedFile>> map_file(const std::string& path);

}  // namespace hiss::io
