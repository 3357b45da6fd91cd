// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "model_path.h"

#include <filesystem>
#include <system_error>

namespace hiss::app {

Result<std::string> find_model(const std::string& asked) {
  if (!asked.empty()) return asked;
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed =
      (program.parent_path() / HISS_INSTALLED_MODELS / HISS_DEFAULT_MODEL).lexically_normal();
  const fs::path in_source_tree = fs::path(HISS_SOURCE_MODELS) / HISS_DEFAULT_MODEL;
  for (const fs::path& path : {installed, in_source_tree}) {
    if (fs::is_regular_file(path, error)) return path.string();
  }
  return NotFound("the bundled model is neither " + installed.string() + " nor " +
                  in_source_tree.string());
}

}  // namespace hiss::app
