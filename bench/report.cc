// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "report.h"

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "hiss/machine.h"

namespace hiss::bench {
namespace {

// The first line a command writes, or "unknown".
std::string line_of(const std::string& command) {
  char line[256] = "";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "unknown";
  const bool read = std::fgets(line, sizeof line, pipe) != nullptr;
  if (pclose(pipe) != 0 || !read) return "unknown";
  std::string text = line;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json json = {{"operator", row.op},
                                 {"kernel", row.kernel},
                                 {"case", row.name},
                                 {"dtype", row.dtype},
                                 {"precision", row.precision},
                                 {"threads", row.threads},
                                 {"median_ms", row.times.median_ms},
                                 {"spread", row.times.spread},
                                 {"samples", row.times.samples},
                                 {"bound_ms", row.bound_ms},
                                 {"bound_kind", row.bound_kind},
                                 {"peer", nullptr},
                                 {"peer_median_ms", nullptr},
                                 {"ratio", nullptr},
                                 {"error", row.error},
                                 {"apart_ms", nullptr},
                                 {"updates", row.work.updates},
                                 {"bytes", row.work.bytes}};
  if (row.apart_ms > 0) json["apart_ms"] = row.apart_ms;
  if (!row.peer.empty()) {
    json["peer"] = row.peer;
    json["peer_median_ms"] = row.peer_median_ms;
    json["ratio"] = row.ratio();
  }
  return json;
}

}  // namespace

Header make_header(int argc, char** argv, const Peaks& peaks, bool quick) {
  Header header{.machine = to_string(this_machine()), .quick = quick, .peaks = peaks};
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::localtime(&now));
  header.date = date;
  header.commit = line_of("git -C '" HISS_SOURCE_DIR "' describe --always --dirty 2>/dev/null");
  header.command = "./run bench cpu";
  for (int i = 1; i < argc; ++i) header.command += std::string(" ") + argv[i];
  return header;
}

void print_heading(const Header& header) {
  std::printf("%s, commit %s\n", header.machine.c_str(), header.commit.c_str());
  std::printf(
      "one thread: %.1f G multiply-adds/s on F32, %.1f on BF16, %.2f G exp/s, %.1f GB/s copied\n",
      header.peaks.multiply_adds / 1e9, header.peaks.bf16_multiply_adds / 1e9,
      header.peaks.exponentials / 1e9, header.peaks.copied_bytes / 1e9);
  for (const PeaksTogether& all : header.together)
    std::printf("%d threads at once: %.1f G multiply-adds/s, %.1f GB/s copied\n", all.threads,
                all.multiply_adds / 1e9, all.copied_bytes / 1e9);
  std::printf("%-46s %-31s %-8s %2s %9s %9s %5s %7s %6s %7s %5s %-6s %7s | %-14s %9s %6s\n",
              "kernel", "case", "class", "th", "ms", "apart", "+-", "G upd/s", "GB/s", "GFLOP/s",
              "share", "of", "error", "against", "ms", "ratio");
}

void print(const Row& row) {
  const double s = 1e6 * row.times.median_ms;  // G units a second: units / s
  char apart[16] = "-";
  if (row.apart_ms > 0) std::snprintf(apart, sizeof apart, "%.3f", row.apart_ms);
  std::printf("%-46s %-31s %-8s %2d %9.3f %9s %4.0f%% %7.2f %6.1f %7.1f %4.0f%% %-6s %7.1e | ",
              row.kernel.c_str(), row.name.c_str(), row.precision.c_str(), row.threads,
              row.times.median_ms, apart, 100 * row.times.spread, row.work.updates / s,
              row.work.bytes / s, 2 * row.work.multiply_adds / s,
              100 * row.bound_ms / row.times.median_ms, row.bound_kind.c_str(), row.error);
  if (row.peer.empty())
    std::printf("-\n");
  else
    std::printf("%-14s %9.3f %5.2fx\n", row.peer.c_str(), row.peer_median_ms, row.ratio());
  std::fflush(stdout);
}

std::string to_json(const Header& header, const std::vector<Row>& rows) {
  auto together = nlohmann::ordered_json::array();
  for (const PeaksTogether& all : header.together)
    together.push_back({{"threads", all.threads},
                        {"multiply_adds_a_second", all.multiply_adds},
                        {"copied_bytes_a_second", all.copied_bytes}});
  const nlohmann::ordered_json head = {
      {"date", header.date},
      {"machine", header.machine},
      {"compiler", __VERSION__},
      {"commit", header.commit},
      {"command", header.command},
      {"quick", header.quick},
      {"peaks",
       {{"multiply_adds_a_second", header.peaks.multiply_adds},
        {"bf16_multiply_adds_a_second", header.peaks.bf16_multiply_adds},
        {"exponentials_a_second", header.peaks.exponentials},
        {"copied_bytes_a_second", header.peaks.copied_bytes}}},
      {"together", together}};
  std::string text = head.dump(1);
  text.resize(text.size() - 2);  // the closing line
  text += ",\n \"rows\": [\n";
  for (size_t i = 0; i < rows.size(); ++i)
    text += "  " + to_json(rows[i]).dump() + (i + 1 < rows.size() ? ",\n" : "\n");
  return text + " ]\n}\n";
}

}  // namespace hiss::bench
