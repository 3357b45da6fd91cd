// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/declared_length.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace hiss::audio {
namespace {

// Files made of chunks: a name, a length and as many bytes, padded to `align`.
struct Layout {
  std::string_view form;  // the file's first four bytes
  int first_chunk;        // where the first one begins
  int name_bytes, length_bytes;
  bool big_endian;
  bool counts_itself;  // the length includes name and length
  uint64_t align;
  std::string_view data;  // the name of the chunk with the samples, its first four bytes
};
constexpr Layout kLayouts[] = {
    {"RIFF", 12, 4, 4, false, false, 2, "data"}, {"RIFX", 12, 4, 4, true, false, 2, "data"},
    {"RF64", 12, 4, 4, false, false, 2, "data"}, {"FORM", 12, 4, 4, true, false, 2, "SSND"},
    {"caff", 8, 4, 8, true, false, 1, "data"},   {"riff", 40, 16, 8, false, true, 8, "data"},
};

// Streaming writers that cannot seek leave a length like 2^32 - 1 or 2^31 - 1, or near them; -1 in
// eight bytes.
bool no_length(uint64_t length, int bytes) {
  return bytes == 4 ? length >= 0x7fff0000 : length >= uint64_t{1} << 63;
}

// A number of `bytes` bytes at a place of the file; 0 beyond its end.
uint64_t number_at(int fd, uint64_t at, int bytes, bool big_endian) {
  unsigned char raw[8] = {};
  if (pread(fd, raw, bytes, static_cast<off_t>(at)) != bytes) return 0;
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | raw[big_endian ? i : bytes - 1 - i];
  return value;
}

int64_t lack(uint64_t promised, uint64_t file_size, uint64_t begin) {
  const uint64_t there = file_size > begin ? file_size - begin : 0;
  return promised > there ? static_cast<int64_t>(std::min<uint64_t>(promised - there, INT64_MAX))
                          : 0;
}

int64_t missing_in_chunks(int fd, uint64_t file_size, const Layout& layout) {
  const uint64_t head = layout.name_bytes + layout.length_bytes;
  uint64_t long_data = 0;  // what 2^32 - 1 stands for in RF64
  for (uint64_t at = layout.first_chunk; at + head <= file_size;) {
    char name[4];
    if (pread(fd, name, sizeof(name), static_cast<off_t>(at)) != sizeof(name)) return 0;
    uint64_t length = number_at(fd, at + layout.name_bytes, layout.length_bytes, layout.big_endian);
    if (layout.counts_itself) length -= std::min(length, head);
    const std::string_view found(name, sizeof(name));
    if (found == "ds64") long_data = number_at(fd, at + head + 8, 8, false);
    if (found == layout.data) {
      if (layout.form == "RF64" && length == 0xffffffff)
        return lack(long_data, file_size, at + head);
      return no_length(length, layout.length_bytes) ? 0 : lack(length, file_size, at + head);
    }
    if (length > file_size) return 0;
    at += head + (length + layout.align - 1) / layout.align * layout.align;
  }
  return 0;
}

}  // namespace

int64_t missing_bytes(int fd) {
  struct stat status {};
  char form[4];
  if (fstat(fd, &status) != 0 || pread(fd, form, sizeof(form), 0) != sizeof(form)) return 0;
  const std::string_view found(form, sizeof(form));
  const uint64_t file_size = static_cast<uint64_t>(status.st_size);
  if (found == ".snd") {  // AU: where the samples begin, how many bytes they are
    const uint64_t length = number_at(fd, 8, 4, true);
    return no_length(length, 4) ? 0 : lack(length, file_size, number_at(fd, 4, 4, true));
  }
  const auto layout = std::ranges::find(kLayouts, found, &Layout::form);
  return layout == std::end(kLayouts) ? 0 : missing_in_chunks(fd, file_size, *layout);
}

}  // namespace hiss::audio
