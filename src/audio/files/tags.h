// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sndfile.h>

#include <string>
#include <vector>

namespace hiss::audio {

// Copies what libsndfile keeps beside the samples: title, artist and the other texts, broadcast
// ("bext") and cart information, cue points, instrument, channel map. Called before the first
// sample is written. Returns the names of what `to` cannot hold.
std::vector<std::string> copy_tags(SNDFILE* from, SNDFILE* to, int channels);

}  // namespace hiss::audio
