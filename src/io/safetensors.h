// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hiss/status.h"
#include "hiss/tensor.h"

namespace hiss::io {

// A safetensors file, mapped into memory: 8 bytes little-endian header length, a JSON header, raw
// little-endian tensor data. Dtypes F32, F16, BF16, F64, I32, I64; rank up to kMaxRank.
class Safetensors {
 public:
  // kNotFound: no such file. kDataLoss: not a valid file, with the reason (header longer than the
  // file, bad JSON, duplicate or unknown field, offsets out of range or overlapping, shape x size
  // overflow or mismatch, unknown dtype).
  static Result<Safetensors> open(const std::string& path);
  // The same on memory that must outlive the object.
  static Result<Safetensors> parse(std::span<const std::byte> bytes);

  const std::map<std::string, ConstTensorView, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  // Absent when there is none of this name.
  ConstTensorView find(std::string_view name) const;

 private:
  std::shared_ptr<const void> mapping_;
  std::map<std::string, ConstTensorView, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

// Writes dense copies of the tensors (strided views are gathered). The file appears under its name
// only when complete. kInternal / kResourceExhausted: the system said no.
Status write_safetensors(const std::string& path,
                         const std::map<std::string, ConstTensorView>& tensors,
                         const std::map<std::string, std::string>& metadata = {});

}  // namespace hiss::io
