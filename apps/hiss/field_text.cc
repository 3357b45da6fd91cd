// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "field_text.h"

#include <charconv>
#include <initializer_list>
#include <vector>

namespace hiss::app {
namespace {

Status wrong(std::string_view got, const std::string& want) {
  return InvalidArgument("got \"" + std::string(got) + "\", want " + want);
}

template <class Enum>
Status parse_one_of(std::string_view text, Enum& value, std::initializer_list<Enum> all) {
  std::vector<std::string> names;
  for (const Enum one : all) {
    if (text == to_string(one)) {
      value = one;
      return {};
    }
    names.push_back(to_string(one));
  }
  return wrong(text, "one of " + joined(names));
}

}  // namespace

Status parse(std::string_view text, int64_t& value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    return wrong(text, "a whole number from 0 on");
  value = number;
  return {};
}

Status parse(std::string_view text, bool& value) {
  if (text != "true" && text != "false") return wrong(text, "true or false");
  value = text == "true";
  return {};
}

Status parse(std::string_view text, DType& value) {
  return parse_one_of(text, value, {DType::kF32, DType::kF16, DType::kBF16});
}

Status parse(std::string_view text, Precision& value) {
  return parse_one_of(text, value, {Precision::kStandard, Precision::kStrict, Precision::kFast});
}

Status parse(std::string_view text, Device& value) {
  return parse_one_of(text, value, {Device::kCpu, Device::kCuda});
}

Status parse(std::string_view text, Direction& value) {
  return parse_one_of(text, value, {Direction::kForward, Direction::kReverse});
}

Status parse(std::string_view text, Activation& value) {
  return parse_one_of(text, value, {Activation::kNone, Activation::kSilu});
}

Status parse(std::string_view text, Layout& value) {
  return parse_one_of(text, value,
                      {Layout::kChannelsLast, Layout::kChannelsFirst, Layout::kStrided});
}

}  // namespace hiss::app
