// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hiss::app {
namespace {

constexpr double kSilent = 2.0;         // seconds before the first word
constexpr double kTerminalEvery = 0.2;  // seconds between two states of the line
constexpr double kLineEvery = 30.0;     // seconds after which a line is due
constexpr double kLineSoonest = 2.0;    // seconds between two lines
constexpr double kLineStep = 0.1;       // progress that deserves a line sooner

}  // namespace

std::string clock_text(double seconds) {
  const auto total = static_cast<long long>(std::llround(std::max(seconds, 0.0)));
  const long long hours = total / 3600, minutes = total / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60);
  return fmt::format("{}:{:02}", minutes, total % 60);
}

std::string Progress::update(double done, double elapsed) {
  if (elapsed < kSilent || done <= 0) return "";
  const double waited = elapsed - last_elapsed_;
  const bool due = terminal_ ? waited >= kTerminalEvery
                             : waited >= kLineEvery ||
                                   (waited >= kLineSoonest && done - last_done_ >= kLineStep);
  if (shown_ && !due) return "";
  shown_ = true;
  last_elapsed_ = elapsed;
  last_done_ = done;
  done = std::min(done, 1.0);  // a header that promised too few frames
  const std::string left = clock_text(elapsed * (1 - done) / done);
  const std::string text = fmt::format("{:3.0f} %, {} left", std::floor(100 * done), left);
  return terminal_ ? "\r\x1b[K" + text : "hiss: " + text + "\n";
}

std::string Progress::finish() { return terminal_ && shown_ ? "\r\x1b[K" : ""; }

}  // namespace hiss::app
