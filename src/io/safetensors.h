// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hiss/status.h"
#include "hiss/tensor.h"
#include "io/output_file.h"

namespace hiss::io {

// Longest JSON header that is read. The format allows 100 MB; the headers of the largest published
// models take a few MB, and parsing costs some ten times the header's size in memory.
inline constexpr uint64_t kMaxSafetensorsHeader = uint64_t{32} << 20;

// A safetensors file, mapped into memory: 8 bytes little-endian header length, a JSON header, raw
// little-endian tensor data. Dtypes F32, F16, BF16, F64, I32, I64; rank up to kMaxRank. The tensors
// must cover the data without holes, as the format demands. Views are aligned to their elements:
// the few tensors that a writer left misaligned are copied, all others point into the file. Whoever
// shortens the file while it is mapped gets this process a SIGBUS.
class Safetensors {
 public:
  // kNotFound: no such file. kDataLoss: not a valid file, with the reason (header longer than the
  // file or than kMaxSafetensorsHeader, bad JSON, duplicate, missing or unknown field, unknown
  // dtype, shape x size overflow or mismatch, offsets out of range or overlapping, data of no
  // tensor). kResourceExhausted: no memory. kInternal: the system refused. All texts begin with the
  // path.
  static Result<Safetensors> open(const std::string& path);
  // The same on memory that must outlive the object.
  static Result<Safetensors> parse(std::span<const std::byte> bytes);

  const std::map<std::string, ConstTensorView, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  // Absent when there is none of this name.
  ConstTensorView find(std::string_view name) const;

 private:
  // The mapped file and the copies, whatever the views point into.
  std::shared_ptr<const void> memory_;
  std::map<std::string, ConstTensorView, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

// Writes dense copies of the tensors (strided views are gathered), the widest elements first so
// that all are aligned. kInvalidArgument: a name that is no UTF-8 or is "__metadata__", an absent
// view. Else OutputFile's errors. The caller commits the file.
Status write_safetensors(OutputFile& file, const std::map<std::string, ConstTensorView>& tensors,
                         const std::map<std::string, std::string>& metadata = {});
// The same under a name; a file that is there is replaced once the new one is complete.
Status write_safetensors(const std::string& path,
                         const std::map<std::string, ConstTensorView>& tensors,
                         const std::map<std::string, std::string>& metadata = {});

}  // namespace hiss::io
