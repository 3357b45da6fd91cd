// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// What this pass of foreach_target.h is called in the kernel table. No include guard: each pass
// includes it anew. In the baseline pass, which makes no rows, HISS_ISA stays undefined.

#include "hwy/highway.h"

#undef HISS_ISA
#undef HISS_ISA_NAME
#if HWY_TARGET == HWY_AVX3
#define HISS_ISA avx512
#define HISS_ISA_NAME "avx512"
#elif HWY_TARGET == HWY_AVX2
#define HISS_ISA avx2
#define HISS_ISA_NAME "avx2"
#elif HWY_TARGET == HWY_SSE4
#define HISS_ISA sse4
#define HISS_ISA_NAME "sse4"
#elif HWY_TARGET == HWY_NEON
#define HISS_ISA neon
#define HISS_ISA_NAME "neon"
#endif
