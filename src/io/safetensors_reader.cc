// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "io/json.h"
#include "io/mapped_file.h"
#include "io/safetensors.h"

namespace hiss::io {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";

// One tensor's entry in the header: where its bytes are, counted from the end of the header.
struct Entry {
  std::string name;
  ConstTensorView view;
  uint64_t begin = 0, end = 0;
};

std::string number(uint64_t n) { return std::to_string(n); }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const DType dtype :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}) {
    if (text == to_string(dtype)) return dtype;
  }
  return std::nullopt;
}

Result<uint64_t> parse_size(const json& value, const char* what) {
  if (!value.is_number_unsigned()) {
    return DataLoss(std::string(what) + " " + printable(value.dump(-1, ' ', true)) +
                    " is not a whole number from 0 to 2^64 - 1");
  }
  return value.get<uint64_t>();
}

Status parse_shape(const json& value, ConstTensorView* view) {
  if (!value.is_array()) return DataLoss("shape is not an array");
  if (value.size() > kMaxRank) {
    return DataLoss("rank " + number(value.size()) + " is above " + number(kMaxRank));
  }
  view->rank = static_cast<int>(value.size());
  // Sizes of 0 count as 1 here: strides are products of the other sizes and must not overflow
  // either.
  uint64_t bytes = static_cast<uint64_t>(size_of(view->dtype));
  for (int i = view->rank - 1; i >= 0; --i) {
    HISS_ASSIGN_OR_RETURN(const uint64_t size, parse_size(value[i], "size"));
    view->shape[i] = static_cast<int64_t>(size);
    view->stride[i] = static_cast<int64_t>(bytes) / size_of(view->dtype);
    const uint64_t factor = std::max<uint64_t>(size, 1);
    if (factor > uint64_t{std::numeric_limits<int64_t>::max()} / bytes) {
      return DataLoss("shape " + value.dump() + " times element size overflows");
    }
    bytes *= factor;
  }
  return {};
}

Status parse_offsets(const json& value, uint64_t data_bytes, Entry* entry) {
  if (!value.is_array() || value.size() != 2) return DataLoss("data_offsets is not a pair");
  HISS_ASSIGN_OR_RETURN(entry->begin, parse_size(value[0], "offset"));
  HISS_ASSIGN_OR_RETURN(entry->end, parse_size(value[1], "offset"));
  if (entry->begin > entry->end || entry->end > data_bytes) {
    return DataLoss("data_offsets [" + number(entry->begin) + ", " + number(entry->end) +
                    "] do not lie within the " + number(data_bytes) + " bytes of data");
  }
  return {};
}

Status parse_entry(const json& fields, uint64_t data_bytes, Entry* entry) {
  if (!fields.is_object()) return DataLoss("is not an object");
  for (const char* field : {"dtype", "shape", "data_offsets"}) {
    if (!fields.contains(field)) return DataLoss("has no " + std::string(field));
  }
  if (fields.size() != 3) {
    return DataLoss("has fields besides dtype, shape and data_offsets");
  }
  const json& dtype_name = fields["dtype"];
  const auto dtype = parse_dtype(dtype_name.is_string() ? dtype_name.get<std::string>() : "");
  if (!dtype) return DataLoss("unknown dtype " + printable(dtype_name.dump(-1, ' ', true)));
  entry->view.dtype = *dtype;
  HISS_RETURN_IF_ERROR(parse_shape(fields["shape"], &entry->view));
  HISS_RETURN_IF_ERROR(parse_offsets(fields["data_offsets"], data_bytes, entry));
  const auto want = static_cast<uint64_t>(entry->view.elements() * size_of(*dtype));
  if (entry->end - entry->begin != want) {
    return DataLoss(to_string(entry->view) + " takes " + number(want) +
                    " bytes, data_offsets give " + number(entry->end - entry->begin));
  }
  return {};
}

Status check_name(const std::string& name) {
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return DataLoss("tensor name " + printable(name) + " holds control characters");
    }
  }
  return {};
}

Status parse_metadata(const json& object, std::map<std::string, std::string, std::less<>>* out) {
  if (!object.is_object()) return DataLoss("__metadata__ is not an object");
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) return DataLoss("metadata " + printable(key) + " is not a string");
    out->emplace(key, value.get<std::string>());
  }
  return {};
}

// The entries must tile the data: no byte in two tensors, none in no tensor.
Status check_tiling(std::vector<Entry>* entries, uint64_t data_bytes) {
  std::sort(entries->begin(), entries->end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const Entry& entry : *entries) {
    if (entry.begin < covered) {
      return DataLoss("tensor " + printable(entry.name) + " overlaps another: begins at byte " +
                      number(entry.begin) + ", another ends at " + number(covered));
    }
    if (entry.begin > covered) {
      return DataLoss("bytes " + number(covered) + " to " + number(entry.begin) +
                      " of the data belong to no tensor");
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    return DataLoss("bytes " + number(covered) + " to " + number(data_bytes) +
                    " of the data belong to no tensor");
  }
  return {};
}

Result<json> parse_header(std::span<const std::byte> bytes) {
  if (bytes.size() < 8) {
    return DataLoss("too short for a safetensors file: " + number(bytes.size()) + " bytes");
  }
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | std::to_integer<uint64_t>(bytes[i]);
  if (length > bytes.size() - 8) {
    return DataLoss("header of " + number(length) + " bytes is longer than the file (" +
                    number(bytes.size()) + " bytes): cut short, or not a safetensors file");
  }
  if (length > kMaxSafetensorsHeader) {
    return DataLoss("header of " + number(length) + " bytes is above the limit of " +
                    number(kMaxSafetensorsHeader));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  if (!text.starts_with('{')) return DataLoss("header does not begin with '{'");
  return parse_json(text);
}

}  // namespace

Result<Safetensors> Safetensors::parse(std::span<const std::byte> bytes) try {
  HISS_ASSIGN_OR_RETURN(const json header, parse_header(bytes));
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  const std::span<const std::byte> data = bytes.subspan(8 + header_bytes);

  Safetensors file;
  std::vector<Entry> entries;
  for (const auto& [name, fields] : header.items()) {
    if (name == kMetadata) {
      HISS_RETURN_IF_ERROR(parse_metadata(fields, &file.metadata_));
      continue;
    }
    HISS_RETURN_IF_ERROR(check_name(name));
    Entry& entry = entries.emplace_back(Entry{.name = name, .view = {}});
    if (const Status status = parse_entry(fields, data.size(), &entry); !status.ok()) {
      return DataLoss("tensor " + printable(name) + ": " + status.message());
    }
  }
  HISS_RETURN_IF_ERROR(check_tiling(&entries, data.size()));

  auto copies = std::make_shared<std::vector<std::unique_ptr<std::byte[]>>>();
  for (Entry& entry : entries) {
    const std::byte* start = data.data() + entry.begin;
    if (reinterpret_cast<uintptr_t>(start) % static_cast<size_t>(size_of(entry.view.dtype)) != 0) {
      copies->push_back(std::make_unique_for_overwrite<std::byte[]>(entry.end - entry.begin));
      std::copy_n(start, entry.end - entry.begin, copies->back().get());
      start = copies->back().get();
    }
    entry.view.data = start;
    file.tensors_.emplace(std::move(entry.name), entry.view);
  }
  file.memory_ = std::move(copies);
  return file;
} catch (const std::bad_alloc&) {
  return ResourceExhausted("no memory for the header");
}

Result<Safetensors> Safetensors::open(const std::string& path) {
  HISS_ASSIGN_OR_RETURN(auto mapping, map_file(path));
  Result<Safetensors> file = parse(mapping->bytes());
  if (!file) return Status(file.error().code(), path + ": " + file.error().message());
  file->memory_ = std::make_shared<std::pair<decltype(mapping), std::shared_ptr<const void>>>(
      std::move(mapping), std::move(file->memory_));
  return file;
}

ConstTensorView Safetensors::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? ConstTensorView() : found->second;
}

}  // namespace hiss::io
