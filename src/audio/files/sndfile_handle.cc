// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/sndfile_handle.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "io/system_error.h"

namespace hiss::audio {
namespace {

// libsndfile's sentences, as the end of one line of ours.
std::string reason(SNDFILE* file) {
  std::string text = sf_strerror(file);
  while (!text.empty() && (text.back() == '.' || text.back() == '\n')) text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

SF_VIRTUAL_IO SndfileHandle::calls() {
  SF_VIRTUAL_IO calls{};
  calls.get_filelen = [](void* user) -> sf_count_t {
    struct stat status {};
    return fstat(static_cast<Io*>(user)->fd, &status) == 0 ? status.st_size : -1;
  };
  calls.seek = [](sf_count_t offset, int whence, void* user) -> sf_count_t {
    return lseek(static_cast<Io*>(user)->fd, offset, whence);
  };
  calls.tell = [](void* user) -> sf_count_t {
    return lseek(static_cast<Io*>(user)->fd, 0, SEEK_CUR);
  };
  calls.read = [](void* bytes, sf_count_t size, void* user) -> sf_count_t {
    Io* io = static_cast<Io*>(user);
    sf_count_t done = 0;
    while (done < size) {
      const ssize_t n = ::read(io->fd, static_cast<char*>(bytes) + done, size - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && io->error == 0) io->error = errno;
      if (n <= 0) break;
      done += n;
    }
    return done;
  };
  calls.write = [](const void* bytes, sf_count_t size, void* user) -> sf_count_t {
    Io* io = static_cast<Io*>(user);
    sf_count_t done = 0;
    while (done < size) {
      const ssize_t n = ::write(io->fd, static_cast<const char*>(bytes) + done, size - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && io->error == 0) io->error = errno;
      if (n < 0) break;
      done += n;
    }
    return done;
  };
  return calls;
}

Result<SndfileHandle> SndfileHandle::open(int fd, const std::string& path, int mode,
                                          const SF_INFO& info) {
  SndfileHandle handle;
  handle.io_ = std::make_unique<Io>(Io{.fd = fd, .path = path});
  handle.info_ = info;
  SF_VIRTUAL_IO io_calls = calls();
  handle.file_.reset(sf_open_virtual(&io_calls, mode, &handle.info_, handle.io_.get()));
  if (handle.io_->error != 0) return io::system_error(path, handle.io_->error);
  if (handle.file_) return handle;
  const std::string text = path + ": " + reason(nullptr);
  if (mode == SFM_WRITE) return Unsupported(text);
  switch (sf_error(nullptr)) {
    case SF_ERR_UNRECOGNISED_FORMAT:
      return DataLoss(path + ": is not a sound file, or of a kind that is not read here");
    case SF_ERR_UNSUPPORTED_ENCODING:
      return Unsupported(text);
    default:
      return DataLoss(path + ": is damaged, or not what its beginning says (" + reason(nullptr) +
                      ")");
  }
}

Result<SndfileHandle> SndfileHandle::open_read(int fd, const std::string& path) {
  lseek(fd, 0, SEEK_SET);
  return open(fd, path, SFM_READ, SF_INFO{});
}

Result<SndfileHandle> SndfileHandle::open_write(int fd, const std::string& path,
                                                const SF_INFO& info) {
  return open(fd, path, SFM_WRITE, info);
}

Status SndfileHandle::error() const {
  if (io_->error != 0) return io::system_error(io_->path, io_->error);
  if (file_ && sf_error(file_.get()) != 0) {
    return DataLoss(io_->path + ": " + reason(file_.get()));
  }
  return {};
}

Status SndfileHandle::close() {
  const int code = sf_close(file_.release());
  if (io_->error != 0) return io::system_error(io_->path, io_->error);
  return code == 0 ? Status() : Internal(io_->path + ": " + sf_error_number(code));
}

}  // namespace hiss::audio
