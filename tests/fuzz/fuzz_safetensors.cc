// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "io/safetensors.h"

namespace {

// Whatever the bytes: an error with a text, or views that lie within the bytes and can be read.
void check(std::span<const uint8_t> input) {
  const auto file = hiss::io::Safetensors::parse(std::as_bytes(input));
  if (!file) {
    if (file.error().message().empty()) std::abort();
    return;
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
  if (total > static_cast<int64_t>(input.size())) std::abort();
}

}  // namespace

// Twice: as it is, and as a header that ends at the first zero byte, with the length put before it.
// The second spares the fuzzer from keeping the length right while it edits the header.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check({data, size});
  const uint64_t header_bytes = static_cast<uint64_t>(std::find(data, data + size, 0) - data);
  std::vector<uint8_t> file(sizeof(header_bytes));
  std::memcpy(file.data(), &header_bytes, sizeof(header_bytes));
  file.insert(file.end(), data, data + size);
  check(file);
  return 0;
}
