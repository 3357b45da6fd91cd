// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Asked by the leak sanitizer, called by nobody else. libsndfile forgets its Vorbis, Opus and MP3
// encoders when the header of their file cannot be written, as on a full disk.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libogg\nleak:libvorbis\nleak:libopus\nleak:libmp3lame\nleak:libsndfile";
}
