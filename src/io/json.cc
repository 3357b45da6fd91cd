// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "io/json.h"

#include <utility>
#include <vector>

namespace hiss::io {
namespace {

using nlohmann::json;

constexpr size_t kLongestQuote = 100;

std::string escaped(std::string_view text) {
  const bool cut = text.size() > kLongestQuote;
  std::string line;
  for (const char c : text.substr(0, kLongestQuote)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      line += c;
    } else {
      constexpr char kHex[] = "0123456789abcdef";
      line += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return cut ? line + "..." : line;
}

// Builds the document as the parser walks it, and stops it at what a lenient parser would let pass.
// The member functions are the ones nlohmann's SAX interface asks for.
class Builder {
 public:
  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(json::number_integer_t value) { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(json::binary_t&) { return refuse("binary value"); }
  bool start_object(size_t) { return open(json::object()); }
  bool start_array(size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (nesting_.back()->contains(name)) return refuse("key " + printable(name) + " occurs twice");
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string_view text = error.what();
    const size_t prefix = text.find("] ");
    return refuse(escaped(prefix == text.npos ? text : text.substr(prefix + 2)));
  }

  json take_document() { return std::move(document_); }
  const std::string& refusal() const { return refusal_; }

 private:
  json* place(json value) {
    if (nesting_.empty()) return &(document_ = std::move(value));
    json& parent = *nesting_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  bool put(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (nesting_.size() == kMaxJsonDepth) {
      return refuse("nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    }
    nesting_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    nesting_.pop_back();
    return true;
  }
  bool refuse(std::string why) {
    refusal_ = std::move(why);
    return false;
  }

  json document_;
  std::vector<json*> nesting_;  // the open objects and arrays; their elements stay where they are
  std::string key_;
  std::string refusal_;
};

}  // namespace

std::string printable(std::string_view text) { return '"' + escaped(text) + '"'; }

Result<json> parse_json(std::string_view text) {
  Builder builder;
  if (!json::sax_parse(text, &builder)) return DataLoss("bad JSON: " + builder.refusal());
  return builder.take_document();
}

}  // namespace hiss::io
