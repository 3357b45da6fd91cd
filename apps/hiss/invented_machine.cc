// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "invented_machine.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace hiss::app {
namespace {

constexpr std::string_view kNames =
    "sse4, avx2, avx512, avx512_bf16, amx_bf16, neon, or sm_ and a number";

bool add_device(std::string_view name, Machine& machine) {
  if (!name.starts_with("sm_")) return false;
  const auto [end, error] =
      std::from_chars(name.data() + 3, name.data() + name.size(), machine.cuda_sm);
  if (error != std::errc() || end != name.data() + name.size() || machine.cuda_sm <= 0)
    return false;
  machine.device_name = "a device";
  machine.num_sms = 132;
  machine.shared_bytes_per_sm = 228 << 10;
  machine.device_l2_bytes = 50 << 20;
  return true;
}

bool add(std::string_view name, Machine& machine) {
  bool* const sets[] = {&machine.sse4, &machine.avx2, &machine.avx512, &machine.avx512_bf16,
                        &machine.amx_bf16};
  constexpr std::string_view kSets[] = {"sse4", "avx2", "avx512", "avx512_bf16", "amx_bf16"};
  const auto* found = std::find(std::begin(kSets), std::end(kSets), name);
  if (found != std::end(kSets)) {
    for (int i = 0; i <= found - std::begin(kSets); ++i) *sets[i] = true;
    return true;
  }
  if (name != "neon") return add_device(name, machine);
  machine.neon = true;
  return true;
}

}  // namespace

Result<Machine> machine_from(std::string_view names) {
  if (names.empty()) return this_machine();
  Machine machine;
  machine.cpu_name = "an invented machine";
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    if (const std::string_view name = names.substr(0, comma); !add(name, machine))
      return InvalidArgument("--machine: got \"" + std::string(name) + "\", want names out of " +
                             std::string(kNames));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return machine;
}

}  // namespace hiss::app
