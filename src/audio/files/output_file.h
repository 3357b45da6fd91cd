// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "io/output_file.h"
#include "io/system_error.h"

// Recordings and pictures become files the way checkpoints do.
namespace hiss::audio {

using io::OutputFile;

// What errno `error` means for a write to `path`, as a Status.
inline Status write_error(const std::string& path, int error) {
  return io::system_error(path, error);
}

}  // namespace hiss::audio
