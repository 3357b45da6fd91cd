// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/launch.h"
#include "cuda/ssd_chunk_scan/chunked.cuh"
#include "cuda/ssd_chunk_scan/chunked_walk.cuh"

// The launches of one padded dstate and number of parts. A source a dstate instantiates them.
namespace hiss::cuda::ssd_chunk_scan {

template <int N, int kParts>
Status launch_chunked(const Chunked& c) {
  constexpr int kPrepareBytes = prepare_shared_bytes<N, kParts>();
  const auto walk_bytes = static_cast<size_t>(walk_shared_bytes(c.cut));
  HISS_RETURN_IF_ERROR(allow_shared(kChunkedName, prepare<N, kParts>, kPrepareBytes));
  HISS_RETURN_IF_ERROR(allow_shared(kChunkedName, walk<N, kParts, true>, walk_bytes));
  HISS_RETURN_IF_ERROR(allow_shared(kChunkedName, walk<N, kParts, false>, walk_bytes));
  if (const auto blocks = static_cast<unsigned>(c.strips); blocks > 0)
    prepare<N, kParts>
        <<<blocks, kPrepareThreads, kPrepareBytes, c.stream>>>(c.scan, c.workspace.chunks);
  const auto blocks = static_cast<unsigned>(c.walks);
  const auto threads = static_cast<unsigned>(64 * c.cut.row_tiles);
  const auto start = [&](auto* function) {
    start_overlapped(function, blocks, threads, walk_bytes, c.stream, c.scan, c.cut,
                     c.workspace.chunks, c.workspace.segments, c.in_fours, c.states_in_fours);
  };
  if (c.cut.cut) start(walk<N, kParts, false>);
  start(walk<N, kParts, true>);
  return launched(kChunkedName);
}

}  // namespace hiss::cuda::ssd_chunk_scan
