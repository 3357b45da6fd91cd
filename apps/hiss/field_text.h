// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hiss/ops/all.h"

// Options of operators and fields of problems as text. parse() says "got X, want Y"; the caller
// knows the name to put before it.
namespace hiss::app {

Status parse(std::string_view text, int64_t& value);  // not negative
Status parse(std::string_view text, bool& value);     // true or false
Status parse(std::string_view text, DType& value);
Status parse(std::string_view text, Precision& value);
Status parse(std::string_view text, Device& value);
Status parse(std::string_view text, Direction& value);
Status parse(std::string_view text, Activation& value);
Status parse(std::string_view text, Layout& value);

inline std::string to_text(int64_t value) { return std::to_string(value); }
inline std::string to_text(bool value) { return value ? "true" : "false"; }
template <class Enum>
requires std::is_enum_v<Enum> std::string to_text(Enum value) { return to_string(value); }

// "batch=2 seqlen=37 ..."
template <class Problem, class Op>
std::string fields_text(const Problem& problem, Op) {
  std::string text;
  Op::for_each_field(problem, [&](const char* name, const auto& value) {
    if (!text.empty()) text += ' ';
    text.append(name).append("=").append(to_text(value));
  });
  return text;
}

// "a, b, c"
template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const auto& name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace hiss::app
