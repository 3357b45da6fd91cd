// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace hiss::audio {

// How many bytes a WAV (RIFF, RIFX, RF64), W64, AIFF, CAF or AU file lacks of the sample data that
// its header promises; 0 when it is whole, of another kind, or was left without a length by a
// program that could not go back to write it.
int64_t missing_bytes(int fd);

}  // namespace hiss::audio
