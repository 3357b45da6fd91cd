// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>

#include "io/safetensors.h"

// Whatever the bytes: an error with a text, or views that lie within the bytes and can be read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = hiss::io::Safetensors::parse(std::as_bytes(std::span(data, size)));
  if (!file) {
    if (file.error().message().empty()) std::abort();
    return 0;
  }
  int64_t total = 0;
  for (const auto& [name, view] : file->tensors()) {
    if (!view.contiguous() || view.rank < 0 || view.rank > hiss::kMaxRank) std::abort();
    const auto* bytes = static_cast<const uint8_t*>(view.data);
    const int64_t n = view.elements() * hiss::size_of(view.dtype);
    volatile int64_t sum = std::accumulate(bytes, bytes + n, int64_t{0});
    static_cast<void>(sum);
    total += n;
  }
  if (total > static_cast<int64_t>(size)) std::abort();
  return 0;
}
