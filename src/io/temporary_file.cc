// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "io/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "io/system_error.h"

namespace hiss::io {
namespace {

std::string random_name() {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device entropy;
  std::string name = ".hiss-";
  for (int i = 0; i < 12; ++i) name += kLetters[entropy() % 36];
  return name;
}

// Renames unless the new name is taken, in one step where the file system can.
int rename_to_free_name(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (access(to.c_str(), F_OK) == 0) return EEXIST;
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

Result<TemporaryFile> TemporaryFile::create(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  if (error) return system_error(path, error.value());
  const std::filesystem::file_status status = std::filesystem::status(target, error);
  if (is_directory(status)) return InvalidArgument(path + ": is a folder");
  if (exists(status) && !is_regular_file(status)) {
    return InvalidArgument(path + ": is not a regular file");
  }
  TemporaryFile file;
  file.path_ = target;
  do {
    file.hidden_path_ = target.parent_path() / random_name();
    file.descriptor_ =
        ::open(file.hidden_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file.descriptor_ < 0 && errno == EEXIST);
  if (file.descriptor_ < 0) return system_error(path, errno);
  // Replacing a file must not open it to more readers than it had.
  if (exists(status)) fchmod(file.descriptor_, static_cast<mode_t>(status.permissions()));
  return file;
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::move(other.path_)),
      hidden_path_(std::move(other.hidden_path_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    hidden_path_ = std::move(other.hidden_path_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

TemporaryFile::~TemporaryFile() { discard(); }

void TemporaryFile::discard() {
  if (descriptor_ < 0) return;
  unlink(hidden_path_.c_str());
  close(std::exchange(descriptor_, -1));
}

Status TemporaryFile::write(const void* bytes, size_t size) {
  const char* next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(path_, errno);
    next += written;
    size -= static_cast<size_t>(written);
  }
  return {};
}

Status TemporaryFile::commit(Existing existing) {
  int error = fsync(descriptor_) == 0 ? 0 : errno;
  if (error == EINVAL || error == EROFS) error = 0;  // a file system that has nothing to sync
  if (error == 0 && existing == Existing::kKeep) {
    error = rename_to_free_name(hidden_path_, path_);
  } else if (error == 0) {
    error = rename(hidden_path_.c_str(), path_.c_str()) == 0 ? 0 : errno;
  }
  if (error != 0) {
    discard();
    return system_error(path_, error);
  }
  close(std::exchange(descriptor_, -1));
  return {};
}

}  // namespace hiss::io
