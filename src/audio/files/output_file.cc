// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/output_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace hiss::audio {

Result<OutputFile> OutputFile::create(const std::string& path, const Options& options) {
  std::error_code error;
  if (!options.not_same.empty() && std::filesystem::equivalent(path, options.not_same, error)) {
    return InvalidArgument(path + ": is the same file as the input " + options.not_same);
  }
  const SignalsBlocked blocked;
  HISS_ASSIGN_OR_RETURN(io::TemporaryFile file, io::TemporaryFile::create(path));
  if (!options.force && std::filesystem::exists(path, error)) {
    return AlreadyExists(path + ": exists already");
  }
  const int slot = note_unfinished(file.hidden_path());
  if (slot == kNoSlot) return ResourceExhausted(path + ": too many unfinished files");
  return OutputFile(path, std::move(file), slot, options.force);
}

OutputFile::OutputFile(std::string path, io::TemporaryFile file, int slot, bool force)
    : path_(std::move(path)), file_(std::move(file)), slot_(slot), force_(force) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      slot_(std::exchange(other.slot_, kNoSlot)),
      force_(other.force_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this != &other) {
    path_ = std::move(other.path_);
    file_ = std::move(other.file_);
    std::swap(slot_, other.slot_);
    forget_unfinished(std::exchange(other.slot_, kNoSlot));
    force_ = other.force_;
  }
  return *this;
}

OutputFile::~OutputFile() {
  // The file goes first, so that a signal in between finds nothing to remove rather than forgets
  // it.
  { const io::TemporaryFile gone = std::move(file_); }
  forget_unfinished(slot_);
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  return file_.write(bytes.data(), bytes.size());
}

Status OutputFile::commit() {
  Status status = file_.commit(force_ ? io::Existing::kReplace : io::Existing::kKeep);
  forget_unfinished(std::exchange(slot_, kNoSlot));
  return status;
}

}  // namespace hiss::audio
