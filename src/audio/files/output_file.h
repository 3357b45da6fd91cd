// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "io/output_file.h"

// Recordings and pictures become files the way checkpoints do.
namespace hiss::audio {

using io::OutputFile;

}  // namespace hiss::audio
