// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "log.h"

#include <cstdio>

namespace hiss::ggml {

void Log::say(const std::string& text) { std::fprintf(stderr, "hiss: %s\n", text.c_str()); }

void Log::once(const std::string& text) {
  if (!problems_) return;
  const std::lock_guard lock(mutex_);
  if (said_.insert(text).second) say(text);
}

}  // namespace hiss::ggml
