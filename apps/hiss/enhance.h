// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exit_code.h"
#include "hiss/enhancer.h"

namespace hiss::app {

// The command line of `hiss enhance`.
struct EnhanceOptions {
  std::string input, output;
  std::string model;  // empty: the bundled one
  double chunk_seconds = 5.0, overlap = 0.05, strength = 1.0;
  Precision precision = Precision::kStandard;
  int threads = 0;
  std::vector<std::string> kernels;
  std::string container, sample_format;          // empty: as the input
  std::string report, picture, reference, dump;  // empty: none
  bool force = false, quiet = false;
};

// How near input and output are to a clean reference, in dB, averaged over the channels. Absent
// where it has no meaning (a silent reference).
struct EnhanceMetrics {
  std::optional<double> si_sdr_before, si_sdr_after;
  std::optional<double> lsd_before, lsd_after;
};

// What happened, for the summary and the report.
struct EnhanceOutcome {
  std::string input_format, output_format;  // "WAV (Microsoft), Signed 16 bit PCM, 16000 Hz ..."
  int sample_rate = 0, channels = 0;
  int64_t frames = 0;
  std::string truncation;          // why the input is held to be cut short, or empty
  std::vector<std::string> notes;  // what of the input the output does not keep
  std::string model_path, model;   // file, and what it is
  std::vector<std::string> kernels;
  int threads = 0;
  std::string machine;
  double load_seconds = 0, enhance_seconds = 0;
  int64_t limited_samples = 0, replaced_samples = 0, peak_memory_bytes = 0;
  std::optional<EnhanceMetrics> metrics;  // with a reference

  double duration() const {
    return sample_rate > 0 ? static_cast<double>(frames) / sample_rate : 0;
  }
  // Seconds of work a second of audio.
  double real_time_factor() const { return frames > 0 ? enhance_seconds / duration() : 0; }
};

// Does what the command line asks for. On success the files are there and the summary is printed;
// else one line on stderr says what to do, and no file is left or touched.
ExitCode enhance(const EnhanceOptions& options);

// The lines a person reads at the end.
std::string summary(const EnhanceOptions& options, const EnhanceOutcome& outcome);
// The same and more as a JSON object; docs/hiss-enhance.md lists the fields.
std::string report_json(const EnhanceOptions& options, const EnhanceOutcome& outcome);

}  // namespace hiss::app
