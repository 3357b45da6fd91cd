// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "peaks.h"
#include "shapes.h"
#include "timer.h"

namespace hiss::bench {

// A kernel on a case, against one contender or (peer empty) none.
struct Row {
  std::string op{}, kernel{}, name{}, dtype{}, precision{};
  int threads = 1;
  Times times{};
  Work work{};
  double bound_ms = 0;
  std::string bound_kind{};  // "fma", "bf16" or "memory"
  std::string peer{};
  double peer_median_ms = 0;
  double error = 0;  // relative rms of y against the reference
  // Several threads that each do all of the work on tensors of their own, over their number: what
  // the machine leaves one thread beside another. 0: not measured.
  double apart_ms = 0;

  double ratio() const { return peer_median_ms / times.median_ms; }
};

// What a report says before its rows.
struct Header {
  std::string date{}, machine{}, commit{}, command{};
  bool quick = false;
  Peaks peaks{};
  std::vector<PeaksTogether> together{};
};

// This machine, this source tree, now.
Header make_header(int argc, char** argv, const Peaks& peaks, bool quick);

void print_heading(const Header& header);
void print(const Row& row);

// An object with the header's members and "rows"; one row a line.
std::string to_json(const Header& header, const std::vector<Row>& rows);

}  // namespace hiss::bench
