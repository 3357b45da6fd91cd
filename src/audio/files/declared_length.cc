// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/declared_length.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace hiss::audio {
namespace {

// Streaming writers that cannot seek leave a length like 2^32 - 1 or 2^31 - 1, or near them.
constexpr uint64_t kNoLength = 0x7fff0000;

uint64_t number(const unsigned char* bytes, int size, bool big_endian) {
  uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8 | bytes[big_endian ? i : size - 1 - i];
  return value;
}

}  // namespace

int64_t missing_bytes(int fd) {
  struct stat status {};
  unsigned char head[12];
  if (fstat(fd, &status) != 0 || pread(fd, head, sizeof(head), 0) != sizeof(head)) return 0;
  const std::string_view form(reinterpret_cast<const char*>(head), 4);
  const bool rf64 = form == "RF64", aiff = form == "FORM";
  if (!rf64 && !aiff && form != "RIFF" && form != "RIFX") return 0;
  const bool big_endian = aiff || form == "RIFX";

  const uint64_t file_size = static_cast<uint64_t>(status.st_size);
  uint64_t long_data = 0;  // ds64's, which stands for a length of 2^32 - 1 in RF64
  for (uint64_t at = sizeof(head); at + 8 <= file_size;) {
    unsigned char chunk[8];
    if (pread(fd, chunk, sizeof(chunk), static_cast<off_t>(at)) != sizeof(chunk)) return 0;
    const std::string_view name(reinterpret_cast<const char*>(chunk), 4);
    uint64_t size = number(chunk + 4, 4, big_endian);
    if (rf64 && name == "ds64") {
      unsigned char lengths[16];  // of RIFF and of data
      if (pread(fd, lengths, sizeof(lengths), static_cast<off_t>(at + 8)) != sizeof(lengths))
        return 0;
      long_data = number(lengths + 8, 8, false);
    }
    if (name == (aiff ? "SSND" : "data")) {
      if (rf64 && size == 0xffffffff)
        size = long_data;
      else if (size >= kNoLength)
        return 0;
      const uint64_t there = file_size - (at + 8);
      return size > there ? static_cast<int64_t>(std::min<uint64_t>(size - there, INT64_MAX)) : 0;
    }
    at += 8 + size + size % 2;
  }
  return 0;
}

}  // namespace hiss::audio
