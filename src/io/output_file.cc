// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "io/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "io/system_error.h"

namespace hiss::io {
namespace {

// The hidden names of unfinished files, where a signal handler can read them: no allocation, no
// lock.
struct Slot {
  enum State { kFree, kFilling, kInUse };
  std::atomic<int> state = kFree;
  char name[PATH_MAX];
};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<Slot, 64> slots;

int take_slot(const std::string& name) {
  if (name.size() >= PATH_MAX) return -1;
  for (size_t i = 0; i < slots.size(); ++i) {
    int expected = Slot::kFree;
    if (!slots[i].state.compare_exchange_strong(expected, Slot::kFilling)) continue;
    std::memcpy(slots[i].name, name.c_str(), name.size() + 1);
    slots[i].state = Slot::kInUse;
    return static_cast<int>(i);
  }
  return -1;
}

std::string random_name() {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device entropy;
  std::string name = ".hiss-";
  for (int i = 0; i < 12; ++i) name += kLetters[entropy() % 36];
  return name;
}

// Renames unless the new name is taken, in one step where the file system can. Returns errno or 0.
int rename_to_free_name(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (access(to.c_str(), F_OK) == 0) return EEXIST;
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// Returns errno or 0. Some file systems have nothing to sync and say so.
int sync_to_disk(int fd) {
  if (fsync(fd) == 0 || errno == EINVAL || errno == EROFS) return 0;
  return errno;
}

// Makes a finished rename last. The file is complete either way, so a refusal changes nothing.
void sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path, const Options& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path target = fs::weakly_canonical(path, error);
  if (error) return system_error(path, error.value());
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status)) return InvalidArgument(path + ": is a folder");
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status)) return InvalidArgument(path + ": is not a regular file");
    if (!options.not_same.empty() && fs::equivalent(target, options.not_same, error)) {
      return InvalidArgument(path + ": is the same file as " + options.not_same);
    }
    if (!options.force) return AlreadyExists(path + ": exists already");
  }
  OutputFile file;
  file.force_ = options.force;
  file.path_ = path;
  file.target_ = target;
  do {
    file.hidden_ = target.parent_path() / random_name();
    // Registered first: a signal between the two calls must not leave the file behind.
    file.slot_ = take_slot(file.hidden_);
    if (file.slot_ < 0) return ResourceExhausted(path + ": too many unfinished files");
    file.fd_ = ::open(file.hidden_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.fd_ < 0) slots[static_cast<size_t>(std::exchange(file.slot_, -1))].state = Slot::kFree;
  } while (file.fd_ < 0 && errno == EEXIST);
  if (file.fd_ < 0) return system_error(path, errno);
  // Replacing a file must not open it to more readers than it had.
  if (fs::exists(status)) fchmod(file.fd_, static_cast<mode_t>(status.permissions()));
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      slot_(std::exchange(other.slot_, -1)),
      force_(other.force_),
      path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      hidden_(std::move(other.hidden_)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  fd_ = std::exchange(other.fd_, -1);
  slot_ = std::exchange(other.slot_, -1);
  force_ = other.force_;
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  hidden_ = std::move(other.hidden_);
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() noexcept {
  if (fd_ < 0) return;
  unlink(hidden_.c_str());
  slots[static_cast<size_t>(std::exchange(slot_, -1))].state = Slot::kFree;
  close(std::exchange(fd_, -1));
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status OutputFile::commit() {
  int error = sync_to_disk(fd_);
  if (error == 0 && force_) {
    error = rename(hidden_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  } else if (error == 0) {
    error = rename_to_free_name(hidden_, target_);
  }
  if (error != 0) {
    discard();
    return error == EEXIST ? AlreadyExists(path_ + ": exists already") : system_error(path_, error);
  }
  slots[static_cast<size_t>(std::exchange(slot_, -1))].state = Slot::kFree;
  close(std::exchange(fd_, -1));
  sync_folder(std::filesystem::path(target_).parent_path());
  return {};
}

void unlink_unfinished_outputs() noexcept {
  for (const Slot& slot : slots) {
    if (slot.state == Slot::kInUse) unlink(slot.name);
  }
}

}  // namespace hiss::io
