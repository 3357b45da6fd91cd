// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hiss/ops/causal_conv1d.h"
#include "hiss/ops/causal_conv1d_update.h"
#include "hiss/ops/selective_scan.h"
#include "hiss/ops/selective_state_update.h"
#include "hiss/ops/ssd_chunk_scan.h"

namespace hiss {

// Calls f.template operator()<Op>() for every operator: listings, tests and benches walk this.
template <class F>
void for_each_operator(F&& f) {
  f.template operator()<CausalConv1d>();
  f.template operator()<CausalConv1dUpdate>();
  f.template operator()<SelectiveScan>();
  f.template operator()<SsdChunkScan>();
  f.template operator()<SelectiveStateUpdate>();
}

}  // namespace hiss
