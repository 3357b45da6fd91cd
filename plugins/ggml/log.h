// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <mutex>
#include <set>
#include <string>

namespace hiss::ggml {

// Lines on stderr, "hiss: ..."; with HISS_GGML=log also one for each distinct problem.
class Log {
 public:
  explicit Log(bool problems) : problems_(problems) {}

  bool problems() const { return problems_; }
  void say(const std::string& text);
  // The first time it is said, if problems are to be logged.
  void once(const std::string& text);

 private:
  const bool problems_;
  std::mutex mutex_;
  std::set<std::string> said_;
};

}  // namespace hiss::ggml
