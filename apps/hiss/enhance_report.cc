// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "enhance.h"
#include "hiss/kernel.h"
#include "hiss/version.h"

namespace hiss::app {
namespace {

using nlohmann::ordered_json;

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

std::string text_or_dash(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "(undefined)";
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string summary(const EnhanceOptions& options, const EnhanceOutcome& outcome) {
  const auto line = [](std::string_view name, const std::string& text) {
    return fmt::format("{:<17}{}\n", name, text);
  };
  std::string text = line("input", options.input + ": " + outcome.input_format);
  text += line("output", options.output + ": " + outcome.output_format);
  text += line("model", outcome.model);
  text += line("kernels", joined(outcome.kernels));
  text += line("threads", fmt::format("{} ({})", outcome.threads, outcome.machine));
  text += line("duration", fmt::format("{:.3f} s", outcome.duration()));
  text += line("time", fmt::format("{:.3f} s, and {:.3f} s to load the model",
                                   outcome.enhance_seconds, outcome.load_seconds));
  text += line("real-time factor", fmt::format("{:.3f}", outcome.real_time_factor()));
  text += line("limited samples", std::to_string(outcome.limited_samples));
  text += line("replaced samples", fmt::format("{} (NaN or Inf)", outcome.replaced_samples));
  if (outcome.metrics) {
    const EnhanceMetrics& m = *outcome.metrics;
    text +=
        line("SI-SDR", fmt::format("{} dB before, {} dB after (more is better)",
                                   text_or_dash(m.si_sdr_before), text_or_dash(m.si_sdr_after)));
    text += line("LSD", fmt::format("{} dB before, {} dB after (less is better)",
                                    text_or_dash(m.lsd_before), text_or_dash(m.lsd_after)));
  }
  return text;
}

std::string report_json(const EnhanceOptions& options, const EnhanceOutcome& outcome) {
  ordered_json report;
  report["hiss_version"] = HISS_VERSION;
  report["input"] = {{"path", options.input},
                     {"format", outcome.input_format},
                     {"sample_rate", outcome.sample_rate},
                     {"channels", outcome.channels},
                     {"frames", outcome.frames},
                     {"duration_seconds", outcome.duration()},
                     {"truncation", outcome.truncation}};
  report["output"] = {{"path", options.output},
                      {"format", outcome.output_format},
                      {"limited_samples", outcome.limited_samples},
                      {"notes", outcome.notes}};
  report["model"] = {{"path", outcome.model_path}, {"description", outcome.model}};
  report["options"] = {{"chunk_seconds", options.chunk_seconds},
                       {"overlap", options.overlap},
                       {"strength", options.strength},
                       {"precision", to_string(options.precision)},
                       {"threads", outcome.threads},
                       {"kernels", options.kernels}};
  report["kernels"] = outcome.kernels;
  report["machine"] = outcome.machine;
  report["load_seconds"] = outcome.load_seconds;
  report["enhance_seconds"] = outcome.enhance_seconds;
  report["real_time_factor"] = outcome.real_time_factor();
  report["peak_memory_bytes"] = outcome.peak_memory_bytes;
  report["replaced_samples"] = outcome.replaced_samples;
  report["metrics"] = nullptr;
  if (outcome.metrics) {
    const EnhanceMetrics& m = *outcome.metrics;
    report["metrics"] = {{"reference", options.reference},
                         {"si_sdr_before_db", number_or_null(m.si_sdr_before)},
                         {"si_sdr_after_db", number_or_null(m.si_sdr_after)},
                         {"lsd_before_db", number_or_null(m.lsd_before)},
                         {"lsd_after_db", number_or_null(m.lsd_after)}};
  }
  // File names need not be UTF-8; a report that says so with U+FFFD beats no report.
  return report.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace hiss::app
