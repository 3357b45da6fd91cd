// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "hiss/status.h"

namespace hiss::bench {

// A Python process that runs a script of bench/contenders and answers each line with a line.
class Python {
 public:
  // With the interpreter that get.sh has linked into `contenders`. kNotFound: there is none.
  static Result<std::unique_ptr<Python>> start(const std::string& contenders,
                                               const std::string& script);
  Python(const Python&) = delete;
  Python& operator=(const Python&) = delete;
  ~Python();

  // For files that both sides read; removed with the process.
  const std::string& folder() const { return folder_; }
  // kInternal: the process has ended; what it says is on stderr.
  Result<std::string> ask(const std::string& question);

  // Files of bare F32 in the folder. False: not all of it could be written, or read.
  bool write(const std::string& name, const std::vector<float>& values) const;
  bool read(const std::string& name, std::vector<float>& values) const;

 private:
  explicit Python(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  pid_t pid_ = 0;
  FILE *questions_ = nullptr, *answers_ = nullptr;
};

}  // namespace hiss::bench
