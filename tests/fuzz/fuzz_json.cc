// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "io/json.h"

// Whatever the bytes: an error with a text, or a document that survives being written and read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto document = hiss::io::parse_json({reinterpret_cast<const char*>(data), size});
  if (!document) {
    if (document.error().message().empty()) std::abort();
    return 0;
  }
  const auto again = hiss::io::parse_json(document->dump());
  if (!again || *again != *document) std::abort();
  return 0;
}
