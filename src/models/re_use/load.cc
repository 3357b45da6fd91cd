// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "models/re_use/config.h"
#include "models/re_use/network.h"
#include "models/re_use/weights.h"

namespace hiss::models {
namespace {

namespace fs = std::filesystem;

// The checkpoint a path stands for: itself, or the one in a directory.
Result<fs::path> find_checkpoint(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  if (const fs::path usual = path / "model.safetensors"; fs::exists(usual, error)) return usual;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".safetensors") found.push_back(entry->path());
  if (error) return NotFound(path.string() + ": " + error.message());
  if (found.empty()) return NotFound(path.string() + ": no .safetensors file in this directory");
  if (found.size() > 1) {
    std::sort(found.begin(), found.end());
    return InvalidArgument(path.string() + ": " + std::to_string(found.size()) +
                           " .safetensors files in this directory, " +
                           found[0].filename().string() + " and " + found[1].filename().string() +
                           " among them; give the file");
  }
  return found.front();
}

// The text of the config.json beside a checkpoint; empty without one.
Result<std::string> read_config_json(const fs::path& checkpoint) {
  constexpr uintmax_t kLargest = 1 << 20;
  const fs::path path = checkpoint.parent_path() / "config.json";
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) return std::string();
  if (size > kLargest) return InvalidArgument(path.string() + ": larger than 1 MiB");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.good() && !file.eof()) return DataLoss(path.string() + ": cannot be read");
  return text;
}

Status in_file(const fs::path& path, const Status& status) {
  return Status(status.code(), path.string() + ": " + status.message());
}

}  // namespace

Result<std::unique_ptr<ReUse>> ReUse::load(const std::string& path, Context& context,
                                           Precision precision) {
  HISS_ASSIGN_OR_RETURN(const fs::path checkpoint, find_checkpoint(path));
  HISS_ASSIGN_OR_RETURN(const io::Safetensors file, io::Safetensors::open(checkpoint.string()));
  HISS_ASSIGN_OR_RETURN(const std::string config_json, read_config_json(checkpoint));
  const Result<ReUseConfig> config = re_use::read_config(file, config_json);
  if (!config) return in_file(checkpoint, config.error());
  Result<re_use::Weights> weights = re_use::load_weights(*config, file);
  if (!weights) return in_file(checkpoint, weights.error());
  return re_use::Network::create(*config, std::move(weights).value(), context, precision);
}

}  // namespace hiss::models
