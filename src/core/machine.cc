// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/device.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hiss {
namespace {

int64_t cache_bytes(int name, int64_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

std::string cpu_model_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

#if defined(__x86_64__)
void detect_isa(Machine& m) {
  __builtin_cpu_init();
  m.sse4 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  m.avx2 = m.sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  m.avx512 = m.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512cd");
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) m.avx512_bf16 = m.avx512 && (a & (1u << 5)) != 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) m.amx_bf16 = m.avx512 && (d & (1u << 22)) != 0;
}
#elif defined(__aarch64__)
void detect_isa(Machine& m) { m.neon = true; }
#else
void detect_isa(Machine&) {}
#endif

Machine detect() {
  Machine m;
  detect_isa(m);
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) m.cores = std::max(1, CPU_COUNT(&set));
  m.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, m.l1_bytes);
  m.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, m.l2_bytes);
  m.cpu_name = cpu_model_name();
  find_device(m);
  return m;
}

}  // namespace

const Machine& this_machine() {
  static const Machine machine = detect();
  return machine;
}

std::string to_string(const Machine& m) {
  std::string text =
      m.cpu_name + ", " + std::to_string(m.cores) + (m.cores == 1 ? " core" : " cores");
  const auto add = [&](bool has, const char* name) {
    if (has) text += std::string(" ") + name;
  };
  add(m.amx_bf16, "amx_bf16"), add(m.avx512_bf16, "avx512_bf16"), add(m.avx512, "avx512");
  add(m.avx2, "avx2"), add(m.sse4, "sse4"), add(m.neon, "neon");
  if (m.cuda_sm != 0) text += ", " + m.device_name + " sm_" + std::to_string(m.cuda_sm);
  return text;
}

}  // namespace hiss
