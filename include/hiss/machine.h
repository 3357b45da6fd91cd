// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

namespace hiss {

// What the host computer can do, as plain data, so that a test can invent one.
struct Machine {
  // CPU instruction sets, each with the companions its kernels use (avx512 = F, BW, DQ, VL, CD).
  bool sse4 = false, avx2 = false, avx512 = false, avx512_bf16 = false, amx_bf16 = false;
  bool neon = false;
  int cores = 1;                                    // that this process may use
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20;  // data caches of one core
  std::string cpu_name;

  int cuda_sm = 0;  // 90 for sm_90; 0: no device
  int num_sms = 0;
  int64_t shared_bytes_per_sm = 0, device_l2_bytes = 0;
  std::string device_name;
};

// This computer. Asked once, then remembered.
const Machine& this_machine();

// "AMD EPYC, 2 cores, avx512 avx512_bf16 avx2 sse4"
std::string to_string(const Machine& machine);

}  // namespace hiss
