// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/context.h"

#include <algorithm>
#include <cstdlib>

#include "core/device.h"
#include "hiss/arena.h"
#include "hiss/ops/all.h"

namespace hiss {
namespace {

std::string_view operator_of(std::string_view kernel) { return kernel.substr(0, kernel.find('/')); }

bool in_a_table(std::string_view name) {
  bool found = false;
  for_each_operator([&]<class Op>() {
    for (const Kernel<Op>* kernel : kernels<Op>()) found = found || kernel->name == name;
  });
  return found;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) names.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return names;
}

Result<std::shared_ptr<std::byte>> host_memory(size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(Arena::kAlignment, bytes));
  if (memory == nullptr)
    return ResourceExhausted("no memory for " + std::to_string(bytes) + " bytes of workspace");
  return std::shared_ptr<std::byte>(memory, [](std::byte* p) { std::free(p); });
}

}  // namespace

Result<Context> Context::create(const ContextOptions& options) {
  Context context;
  context.machine_ = &this_machine();
  context.stream_ = options.stream;
  // Names in the program come first: one from the environment for the same operator gives way.
  const auto force = [&](const std::string& name, size_t first_of_its_kind) -> Status {
    if (!in_a_table(name))
      return NotFound("no kernel named " + name + " (hiss kernels lists them)");
    for (size_t i = 0; i < context.forced_.size(); ++i) {
      const std::string& taken = context.forced_[i];
      if (operator_of(taken) != operator_of(name)) continue;
      if (i < first_of_its_kind || taken == name) return {};
      return InvalidArgument("forced kernels: " + taken + " and " + name +
                             " are of one operator; want one");
    }
    context.forced_.push_back(name);
    return {};
  };
  for (const std::string& name : options.forced) HISS_RETURN_IF_ERROR(force(name, 0));
  const char* environment = options.read_environment ? std::getenv("HISS_FORCE") : nullptr;
  if (environment != nullptr) {
    const size_t from_program = context.forced_.size();
    for (const std::string& name : split_at_commas(environment))
      HISS_RETURN_IF_ERROR(force(name, from_program));
  }
  if (options.executor != nullptr) {
    context.executor_ = options.executor;
  } else {
    context.owned_ = make_thread_pool(options.threads);
    context.executor_ = context.owned_.get();
  }
  return context;
}

std::string_view Context::forced(std::string_view op) const {
  for (const std::string& name : forced_)
    if (operator_of(name) == op) return name;
  return {};
}

Result<std::span<std::byte>> Context::scratch(size_t bytes, Device device) {
  Scratch& kept = scratch_[static_cast<size_t>(device)];
  if (bytes > kept.bytes) {
    const size_t rounded = Arena::bytes_for<std::byte>(static_cast<int64_t>(bytes));
    kept = {};
    HISS_ASSIGN_OR_RETURN(kept.memory,
                          device == Device::kCpu ? host_memory(rounded) : device_memory(rounded));
    kept.bytes = rounded;
  }
  return std::span<std::byte>(kept.memory.get(), bytes);
}

}  // namespace hiss
