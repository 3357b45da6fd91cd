// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "hiss/status.h"

namespace hiss::io {

// Deepest nesting of objects and arrays that parse_json() follows.
inline constexpr int kMaxJsonDepth = 32;

// One JSON document (RFC 8259) and nothing after it. Stricter than the standard asks: a key that
// occurs twice in an object, and nesting deeper than kMaxJsonDepth, are refused. kDataLoss says
// what is wrong and where.
Result<nlohmann::json> parse_json(std::string_view text);

// Text from a file, fit for one line of a message: quoted, escaped, and cut when it is long.
std::string printable(std::string_view text);

}  // namespace hiss::io
