// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace hiss::testing_support {

// How a run of the program ended and what it said.
struct Ended {
  int exit_code = -1;  // -1: a signal ended it
  int signal = 0;      // 0: it ended by itself
  std::string out, err;
};

// The built hiss program, started. Its output goes to files, so that it never waits for us.
class RunningHiss {
 public:
  // `limits`: shell commands that run before it in the same process, "ulimit -f 8".
  explicit RunningHiss(const std::vector<std::string>& arguments, const std::string& limits = "");
  pid_t pid() const { return pid_; }
  bool alive() const;
  Ended wait();

 private:
  TemporaryFolder folder_;
  pid_t pid_ = 0;
};

inline Ended run_hiss(const std::vector<std::string>& arguments, const std::string& limits = "") {
  return RunningHiss(arguments, limits).wait();
}

}  // namespace hiss::testing_support
