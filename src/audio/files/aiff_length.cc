// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/aiff_length.h"

#include <errno.h>
#include <unistd.h>

#include <string_view>

#include "io/system_error.h"

namespace hiss::audio {
namespace {

bool put_big_endian(int fd, uint32_t value, off_t at) {
  unsigned char bytes[4];
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<unsigned char>(value >> (24 - 8 * i));
  return pwrite(fd, bytes, sizeof(bytes), at) == sizeof(bytes);
}

}  // namespace

Status set_aiff_frames(int fd, const std::string& path, int64_t frames) {
  unsigned char chunk[8];
  bool done = true;
  for (off_t at = 12; pread(fd, chunk, sizeof(chunk), at) == sizeof(chunk);) {
    const std::string_view name(reinterpret_cast<const char*>(chunk), 4);
    uint32_t size = 0;
    for (int i = 4; i < 8; ++i) size = size << 8 | chunk[i];
    // COMM: channels in 2 bytes, then the frames. SSND: offset and block size come before them.
    if (name == "COMM") done &= put_big_endian(fd, static_cast<uint32_t>(frames), at + 10);
    if (name == "SSND") done &= put_big_endian(fd, static_cast<uint32_t>(frames + 8), at + 4);
    at += 8 + static_cast<off_t>(size) + size % 2;
  }
  return done ? Status() : io::system_error(path, errno);
}

}  // namespace hiss::audio
