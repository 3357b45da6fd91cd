// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "hiss/status.h"

namespace hiss::io {

// What a failed system call means: kNotFound when something is not there, kAlreadyExists when it
// is, kResourceExhausted when memory, disk, quota or descriptors ran out, else kInternal. The text
// is "WHAT: why".
Status system_error(const std::string& what, int error_number);

}  // namespace hiss::io
