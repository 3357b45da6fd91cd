// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

namespace hiss::app {

// "0:07", "12:34", "1:02:03".
std::string clock_text(double seconds);

// What to print about a long run, and when. Says nothing in the first two seconds. It looks at no
// clock and prints nothing itself.
class Progress {
 public:
  // `terminal`: one line that rewrites itself; else whole lines, few of them.
  explicit Progress(bool terminal) : terminal_(terminal) {}
  // Text to print now, or empty. `done` is the part that is finished, 0 ... 1, `elapsed` the
  // seconds since the start.
  std::string update(double done, double elapsed);
  // What clears the line away, or empty.
  std::string finish();

 private:
  bool terminal_;
  bool shown_ = false;
  double last_elapsed_ = 0, last_done_ = 0;
};

}  // namespace hiss::app
