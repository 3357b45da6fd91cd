// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Which instruction sets a SIMD source is compiled for. Include before hwy/foreach_target.h.
//
// Everything is dynamic, whatever the compiler was told about the build machine: the kernel table
// names one row an instruction set, and Machine says at run time which of them may be used.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SCALAR
#define HWY_BROKEN_EMU128 1  // HWY_SCALAR is the baseline with every compiler
#endif
