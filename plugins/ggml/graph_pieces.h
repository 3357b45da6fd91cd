// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "ggml_abi.h"
#include "hiss/executor.h"

namespace hiss::ggml {

// Computes the nodes of a graph in order: those that are hiss's one by one with `hiss`, the runs
// between them with `ggml` (first, last + 1), never an empty one. Returns kStatusSuccess, or the
// first other status, with which it stops. A graph of no nodes is one run.
inline int compute_in_pieces(int nodes, FunctionRef<bool(int)> is_hiss,
                             FunctionRef<int(int, int)> ggml, FunctionRef<int(int)> hiss) {
  int done = 0;
  for (int i = 0; i < nodes; ++i) {
    if (!is_hiss(i)) continue;
    if (done < i) {
      if (const int status = ggml(done, i); status != kStatusSuccess) return status;
    }
    if (const int status = hiss(i); status != kStatusSuccess) return status;
    done = i + 1;
  }
  return done < nodes || nodes == 0 ? ggml(done, nodes) : kStatusSuccess;
}

}  // namespace hiss::ggml
