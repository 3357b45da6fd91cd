// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "options.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace hiss::ggml {
namespace {

Status refuse(std::string_view word, const char* want) {
  return InvalidArgument("HISS_GGML: got \"" + std::string(word) + "\"; want " + want);
}

std::optional<int64_t> parse_count(std::string_view text) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1) return std::nullopt;
  return count;
}

Status parse_word(std::string_view word, Options& options) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = equals == word.npos ? "" : word.substr(equals + 1);
  if (equals == word.npos) {
    if (name == "off") return options.enabled = false, Status();
    if (name == "log") return options.log = true, Status();
  } else if (name == "min_tokens") {
    const auto count = parse_count(value);
    if (!count) return refuse(word, "min_tokens=N with N from 1 up");
    return options.min_tokens = *count, Status();
  } else if (name == "cuda_min_tokens") {
    options.cuda_min_tokens = parse_count(value);
    if (!options.cuda_min_tokens) return refuse(word, "cuda_min_tokens=N with N from 1 up");
    return {};
  } else if (name == "cuda") {
    if (value == "hook") return options.cuda = CudaRoute::kHook, Status();
    if (value == "device") return options.cuda = CudaRoute::kDevice, Status();
    if (value == "off") return options.cuda = CudaRoute::kOff, Status();
    return refuse(word, "cuda=hook, device or off");
  } else if (name == "precision") {
    for (const Precision p : {Precision::kStandard, Precision::kStrict, Precision::kFast})
      if (value == to_string(p)) return options.precision = p, Status();
    return refuse(word, "precision=standard, strict or fast");
  } else if (name == "route") {
    if (value == "hook") return options.route = Route::kHook, Status();
    if (value == "device") return options.route = Route::kDevice, Status();
    return refuse(word, "route=hook or device");
  }
  return refuse(word,
                "off, log, min_tokens=N, precision=CLASS, route=ROUTE, cuda=ROUTE or "
                "cuda_min_tokens=N");
}

}  // namespace

Result<Options> parse_options(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    HISS_RETURN_IF_ERROR(parse_word(text.substr(0, comma), options));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return options;
}

}  // namespace hiss::ggml
