// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "io/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/system_error.h"

namespace hiss::io {

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<std::shared_ptr<const MappedFile>> map_file(const std::string& path) {
  // Without O_NONBLOCK a pipe that nobody writes to would hold us here.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_error(path, errno);
  struct stat status;
  void* memory = nullptr;
  Status failure;
  if (fstat(descriptor, &status) != 0) {
    failure = system_error(path, errno);
  } else if (!S_ISREG(status.st_mode)) {
    failure = InvalidArgument(
        path + (S_ISDIR(status.st_mode) ? ": is a folder" : ": is not a regular file"));
  } else if (status.st_size > 0) {
    memory =
        mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) failure = system_error(path, errno);
  }
  close(descriptor);
  if (!failure.ok()) return failure;
  const auto* bytes = static_cast<const std::byte*>(memory);
  const size_t size = memory == nullptr ? 0 : static_cast<size_t>(status.st_size);
  return std::make_shared<const MappedFile>(std::span(bytes, size));
}

}  // namespace hiss::io
