// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "io/system_error.h"

#include <errno.h>

#include <system_error>

namespace hiss::io {

Status system_error(const std::string& what, int error_number) {
  const std::string text = what + ": " + std::generic_category().message(error_number);
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return NotFound(text);
    case EEXIST:
      return AlreadyExists(text);
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EFBIG:
      return ResourceExhausted(text);
    default:
      return Internal(text);
  }
}

}  // namespace hiss::io
