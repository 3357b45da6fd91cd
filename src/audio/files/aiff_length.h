// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "hiss/status.h"

namespace hiss::audio {

// Puts the number of frames right in an AIFF file of one byte a frame. libsndfile counts the
// padding byte of an odd number of them as a frame. kInternal: the system said no.
Status set_aiff_frames(int fd, const std::string& path, int64_t frames);

}  // namespace hiss::audio
