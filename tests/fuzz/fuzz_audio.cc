// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "audio/files/audio_file.h"

namespace {

// Whatever the bytes: an error with a text, or a sound file that comes to an end.
void check(const std::string& path) {
  const auto reader = hiss::audio::AudioReader::open(path);
  if (!reader) {
    if (reader.error().message().empty()) std::abort();
    return;
  }
  const hiss::audio::AudioInfo& info = (*reader)->info();
  if (info.channels < 1 || info.sample_rate < 1 || info.frames < 0) std::abort();
  std::vector<float> block(static_cast<size_t>(info.channels) * 1024);
  // A small file can hold long silence; a thousand blocks show whether reading is sound.
  for (int i = 0; i < 1000; ++i) {
    const auto frames = (*reader)->read(std::span(block));
    if (!frames) {
      if (frames.error().message().empty()) std::abort();
      return;
    }
    if (*frames < 0 || *frames > 1024) std::abort();
    if (*frames == 0) return;
  }
}

}  // namespace

// libsndfile 1.2 loses this structure when an Ogg stream is damaged; the leak is not ours to mend.
extern "C" const char* __lsan_default_suppressions() { return "leak:vorbis_info_init\n"; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Files are opened by name: this one lives in memory and has a name under /proc.
  const int fd = memfd_create("fuzz_audio", MFD_CLOEXEC);
  if (fd < 0) std::abort();
  if (write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  check("/proc/self/fd/" + std::to_string(fd));
  close(fd);
  return 0;
}
