// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "io/json.h"
#include "io/output_file.h"
#include "io/safetensors.h"

namespace hiss::io {
namespace {

using Named = std::pair<const std::string, ConstTensorView>;

// Row-major order whatever the strides, through a buffer of bounded size.
Status write_elements(const ConstTensorView& view, OutputFile* file) {
  const int64_t size = size_of(view.dtype);
  const int64_t total = view.elements();
  const auto* base = static_cast<const std::byte*>(view.data);
  if (total == 0) return {};
  if (view.contiguous()) return file->write({base, static_cast<size_t>(total * size)});

  std::vector<std::byte> buffer(size_t{1} << 16);
  std::array<int64_t, kMaxRank> index{};
  size_t used = 0;
  for (int64_t i = 0; i < total; ++i) {
    int64_t offset = 0;
    for (int axis = 0; axis < view.rank; ++axis) offset += index[axis] * view.stride[axis];
    std::memcpy(buffer.data() + used, base + offset * size, static_cast<size_t>(size));
    used += static_cast<size_t>(size);
    if (used == buffer.size())
      HISS_RETURN_IF_ERROR(file->write(std::span(buffer).first(std::exchange(used, 0))));
    for (int axis = view.rank - 1; axis >= 0 && ++index[axis] == view.shape[axis]; --axis) {
      index[axis] = 0;
    }
  }
  return file->write(std::span(buffer).first(used));
}

Result<std::string> make_header(const std::vector<const Named*>& tensors,
                                const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const Named* tensor : tensors) {
    const auto& [name, view] = *tensor;
    if (!view.present()) return InvalidArgument("tensor " + printable(name) + " is absent");
    if (name == "__metadata__") return InvalidArgument("no tensor can be named \"__metadata__\"");
    const int64_t end = offset + view.elements() * size_of(view.dtype);
    header[name] = {{"dtype", to_string(view.dtype)},
                    {"shape", std::vector(view.shape.begin(), view.shape.begin() + view.rank)},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    return InvalidArgument("a tensor name or metadata text is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data after it starts aligned
  return text;
}

}  // namespace

Status write_safetensors(OutputFile& file, const std::map<std::string, ConstTensorView>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  std::vector<const Named*> order;
  for (const Named& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const Named* a, const Named* b) {
    return size_of(a->second.dtype) > size_of(b->second.dtype);
  });
  HISS_ASSIGN_OR_RETURN(const std::string header, make_header(order, metadata));
  const uint64_t header_bytes = header.size();
  HISS_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(&header_bytes, 1))));
  HISS_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(header))));
  for (const Named* tensor : order) HISS_RETURN_IF_ERROR(write_elements(tensor->second, &file));
  return {};
}

Status write_safetensors(const std::string& path,
                         const std::map<std::string, ConstTensorView>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  HISS_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path, {.force = true}));
  HISS_RETURN_IF_ERROR(write_safetensors(file, tensors, metadata));
  return file.commit();
}

}  // namespace hiss::io
